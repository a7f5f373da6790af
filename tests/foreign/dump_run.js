// node dump_run.js READER RUN: prints every row of a closed run as a line of JSON, by a reader of
// Arrow files that is not ours, from what docs/format.md says of the files and nothing else.
// Numbers that must be exact come as text: integers in decimal, doubles as the bits they are.
"use strict";
const fs = require("fs");
const path = require("path");

const kReductions = ["min", "max", "mean", "std", "variance", "sum", "prod", "median", "l1", "l2"];
const kColumns = kReductions.concat(kReductions.map((name) => "abs_" + name));
const kCounts = ["nan", "pos_inf", "neg_inf", "zero"];

function rowsOf(bytes) {
  const { tableFromIPC } = require("apache-arrow");
  return tableFromIPC(bytes).toArray().map((row) => row.toJSON());
}

// Each gives the rows of a file as objects.
const kReaders = {
  arrow: (file) => rowsOf(fs.readFileSync(file)),
  polars(file) {
    const polars = require("nodejs-polars");
    const frame = polars.readIPC(fs.readFileSync(file));
    // It has no way from these to JavaScript, but writes what it holds of them.
    const odd = frame.columns.filter((name) => ["data", "inline", "shape"].includes(name));
    const rest = frame.drop(...odd).toRecords();
    return rowsOf(frame.select(...odd).writeIPC()).map((row, i) => ({ ...rest[i], ...row }));
  },
};

function bitsOf(number) {
  if (Number.isNaN(number)) return "nan";
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(number);
  return bytes.toString("hex");
}

function filesBelow(folder) {
  if (!fs.existsSync(folder)) return [];
  return fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const inside = path.join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(inside) : inside.endsWith(".arrow") ? [inside] : [];
    });
}

const isNone = (value) => value === null || value === undefined;

// The value of a row: in the index itself, or in the events file, where two ways lead to it.
function valueOf(row, eventsFile, events) {
  if (!isNone(row.inline)) return Buffer.from(row.inline).toString("hex");
  if (isNone(row.offset)) return null;
  const offset = Number(row.offset);
  const bytes = fs.readFileSync(eventsFile).subarray(offset, offset + Number(row.length));
  // What a later save of the same step replaced comes before it.
  const saved = events.filter((e) => e.step == row.step && e.tensor === row.tensor).pop();
  if (!saved || !bytes.equals(Buffer.from(saved.data)))
    throw new Error(`${eventsFile}: ${row.tensor} at ${row.step} is not what the index points to`);
  return bytes.toString("hex");
}

const [, , readerName, run] = process.argv;
const read = kReaders[readerName];
for (const indexFile of filesBelow(path.join(run, "index"))) {
  const eventsFile = path.join(run, "events", path.relative(path.join(run, "index"), indexFile));
  const events = fs.existsSync(eventsFile) ? read(eventsFile) : [];
  for (const row of read(indexFile)) {
    if (row.tensor.startsWith("cupel/")) continue;
    const reductions = {};
    for (const name of kColumns)
      if (!isNone(row[name])) reductions[name] = bitsOf(row[name]);
    console.log(JSON.stringify([
      row.worker, String(row.step), row.mode, String(row.mode_step), row.tensor, row.dtype,
      isNone(row.shape) ? null : Array.from(row.shape, String), String(row.elements),
      isNone(row.nan) ? null : kCounts.map((name) => String(row[name])), reductions,
      valueOf(row, eventsFile, events),
    ]));
  }
}
