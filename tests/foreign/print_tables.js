// node print_tables.js BLOCK…: does with blocks in JavaScript what print_tables.py does with those in Python.
"use strict";
const fs = require("fs");

function exact(item) {
  if (typeof item === "string") return item;
  if (Number.isNaN(item)) return "nan";
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(Number(item));
  return bytes.toString("hex");
}

for (const block of process.argv.slice(2)) {
  const text = fs.readFileSync(block, "utf8");
  const name = [...text.matchAll(/^const (\w+) = /gm)].pop()[1];
  let result = new Function("require", `${text}\nreturn ${name};`)(require);
  if (typeof result.rows === "function") result = result.rows();  // Polars
  const rows = Array.from(result, (row) => (Array.isArray(row) ? row.map(exact) : [exact(row)]));
  console.log(JSON.stringify([block, name, rows]));
}
