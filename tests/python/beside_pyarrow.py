"""cupel, with its own Arrow inside, and pyarrow in one process, in both orders of import.

The extension exports one symbol, so neither library sees the other's Arrow, also with RTLD_GLOBAL.
Where symbols of both were visible, such a process aborted or took functions of the other version.
Each case is a process: it saves a run with cupel, makes a table with pyarrow, and reads the names
that cupel saved with pyarrow.

usage: python beside_pyarrow.py        for an interpreter that has pyarrow and numpy
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ORDERS = (("cupel._native", "pyarrow"), ("pyarrow", "cupel._native"))


def saved_tensors(run: Path) -> set[str]:
    """The names in the Arrow files of a run, read by pyarrow."""
    import pyarrow

    names = set()
    for file in run.rglob("*.arrow"):
        table = pyarrow.ipc.open_file(file).read_all()
        for column in table.column_names:
            if "tensor" in column or "name" in column:
                names |= {str(value) for value in table.column(column).to_pylist()}
    return names


def one_case(order: tuple[str, ...], is_global: bool) -> None:
    if is_global:
        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
    for module in order:
        __import__(module)
    import numpy
    import pyarrow
    from cupel import _native

    with tempfile.TemporaryDirectory() as folder:
        hook = _native.Hook({"out_dir": folder + "/run", "save_all": True})
        for step in range(3):
            hook.next_step()
            hook.save_tensor("fc1.weight", numpy.full((2, 3), float(step), dtype=numpy.float32))
        report = hook.close()
        assert not report.problems, report.problems
        table = pyarrow.table({"step": list(range(1000))})
        with pyarrow.ipc.new_file(folder + "/table.arrow", table.schema) as file:
            file.write_table(table)
        assert pyarrow.ipc.open_file(folder + "/table.arrow").read_all().equals(table)
        assert "fc1.weight" in saved_tensors(Path(folder) / "run")


def main() -> None:
    if len(sys.argv) > 1:
        one_case(tuple(sys.argv[1].split(",")), sys.argv[2] == "global")
        return
    failed = 0
    for order, scope in itertools.product(ORDERS, ("local", "global")):
        case = [sys.executable, __file__, ",".join(order), scope]
        done = subprocess.run(case, capture_output=True, text=True)
        print(f"{' before '.join(order)}, {scope} symbols: status {done.returncode}")
        if done.returncode != 0:
            failed += 1
            print(done.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
