"""python print_tables.py BLOCK…: runs files that are blocks of docs/other-readers.md, each by itself, and prints
the result of the last assignment of each: a line of JSON [BLOCK, name, rows]. Numbers come as the bits of doubles."""
import json
import re
import struct
import sys


def exact(item):
    if isinstance(item, str):
        return item
    return "nan" if item != item else struct.pack(">d", item).hex()


def rows_of(result):
    if hasattr(result, "to_pylist"):  # pyarrow
        return [row.values() for row in result.to_pylist()]
    if hasattr(result, "fetchall"):  # DuckDB
        return result.fetchall()
    if hasattr(result, "itertuples"):  # pandas
        return result.itertuples(index=False)
    if hasattr(result, "rows"):  # Polars
        return result.rows()
    return result.reshape(-1, 1).tolist() if hasattr(result, "reshape") else result


for block in sys.argv[1:]:
    with open(block) as file:
        text = file.read()
    names = {"__name__": block}
    exec(compile(text, block, "exec"), names)
    name = re.findall(r"^(\w+) = ", text, re.M)[-1]
    rows = [[exact(item) for item in row] for row in rows_of(names[name])]
    print(json.dumps([block, name, rows]))
