"""python reencode_run.py RUN NEW v4|js: writes a golden run anew with another encoder of Arrow files.

The rows, the values and the batches stay the same; the bytes that Arrow's encoder chooses differ. `v4` is pyarrow with
messages of metadata version 4; `js` is the npm package apache-arrow for the events files (reencode_run.js; node finds
the package by NODE_PATH), and pyarrow for the index files. scripts/make_golden.sh calls this program, no test does."""
import pathlib
import shutil
import struct
import subprocess
import sys

import pyarrow as pa

CRC_KEY, CRC_TAG = b"cupel.crc", b"cupel.crc32c="
CRC_TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC_TABLE.append(byte)


def crc32c(data, seed=0):
    crc = seed ^ 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def write(path, schema, batches, version="V5", metadata=None):
    options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion[version])
    with pa.ipc.new_file(path, schema, options=options, metadata=metadata) as writer:
        for batch in batches:
            writer.write_batch(batch, custom_metadata=metadata)


def first_values(path):
    """Where the values of each batch of an events file begin."""
    file = pa.py_buffer(path.read_bytes())
    with pa.ipc.open_file(file) as reader:
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    return [batch.column("data").buffers()[2].address - file.address for batch in batches]


def reencode_events(old, new):
    """Writes the file anew; returns a function that turns an old offset of a value into the new one."""
    if encoder == "js":
        script = pathlib.Path(__file__).with_suffix(".js")
        subprocess.run(["node", script, old, new], check=True)
    else:
        with pa.ipc.open_file(pa.py_buffer(old.read_bytes())) as reader:
            write(new, reader.schema, [reader.get_batch(i) for i in range(reader.num_record_batches)], "V4")
    places = list(zip(first_values(old), first_values(new)))

    def moved(offset):
        begin, new_begin = max(place for place in places if place[0] <= offset)
        return new_begin + offset - begin

    return moved


def chain(path):
    """Fills the checksums in, as docs/format.md says."""
    file = bytearray(path.read_bytes())
    footer = len(file) - 10 - struct.unpack_from("<i", file, len(file) - 10)[0] - 8
    at, messages = 8, []
    while at < footer:
        metadata = struct.unpack_from("<i", file, at + 4)[0]
        body = pa.ipc.read_message(pa.py_buffer(file)[at:]).body
        end = at + 8 + metadata + (0 if body is None else body.size)
        messages.append((at, end))
        at = end
    crc = 0
    for begin, end in messages + [(footer, len(file))]:
        digits = file.find(CRC_TAG, begin, end)
        if digits < 0:  # schema and dictionaries: with the magic, the seed of the first batch
            crc = crc32c(file[:end])
            continue
        digits += len(CRC_TAG)
        crc = crc32c(file[begin:end], crc)
        file[digits:digits + 8] = b"%08x" % crc
    path.write_bytes(file)


def reencode_index(old, new, moved):
    with pa.ipc.open_file(pa.py_buffer(old.read_bytes())) as reader:
        schema = reader.schema
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    column = schema.get_field_index("offset")
    for i, batch in enumerate(batches):
        offsets = [offset if offset is None else moved(offset) for offset in batch.column(column).to_pylist()]
        batches[i] = batch.set_column(column, schema.field(column), pa.array(offsets, pa.int64()))
    write(new, schema, batches, metadata={CRC_KEY: CRC_TAG + b"00000000"})
    chain(new)


run, new_run, encoder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
shutil.copytree(run, new_run)
for index in run.glob("index/*/*.arrow"):
    events = run / "events" / index.relative_to(run / "index")
    moved = reencode_events(events, new_run / events.relative_to(run)) if events.exists() else None
    reencode_index(index, new_run / index.relative_to(run), moved)
