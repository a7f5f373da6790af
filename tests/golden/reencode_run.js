// node reencode_run.js EVENTS NEW: writes an Arrow file anew by the writer of the npm package apache-arrow.
"use strict";
const fs = require("fs");
const { RecordBatchFileWriter, RecordBatchReader, RecordBatchWriter } = require("apache-arrow");

// The package leaves the schema's message at the file's begin out, which the format demands.
class FileWriter extends RecordBatchFileWriter {
  _writeSchema(schema) {
    super._writeSchema(schema);
    return RecordBatchWriter.prototype._writeSchema.call(this, schema);
  }
}

const [, , from, to] = process.argv;
const writer = new FileWriter();
for (const batch of RecordBatchReader.from(fs.readFileSync(from))) writer.write(batch);
fs.writeFileSync(to, writer.finish().toUint8Array(true));
