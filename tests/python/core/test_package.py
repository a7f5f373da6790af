"""The package as it is installed: what an import loads, its time, what the extension exports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import cupel
from cupel import _native


def result_of(script: str) -> Any:
    """What a new interpreter prints as JSON; its search path is that of this one."""
    script = f"import json, sys\nsys.path[:] = {sys.path!r}\n{script}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_import_loads_numpy_and_no_framework():
    loaded = result_of("import cupel, cupel._native\nprint(json.dumps(sorted(sys.modules)))")
    assert "cupel._native" in loaded
    assert not {"torch", "xgboost", "pandas"} & set(loaded)


def test_an_import_behind_numpy_takes_at_most_50_ms_of_the_processor():
    script = (
        "import time, numpy\n"
        "began = time.process_time()\n"
        "import cupel, cupel._native\n"
        "print(json.dumps(time.process_time() - began))"
    )
    assert min(result_of(script) for _ in range(3)) <= 0.05


def test_the_extension_exports_one_symbol():
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", _native.__file__],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["PyInit__native"]


def test_the_extension_is_linked_with_no_framework():
    needed = subprocess.run(
        ["readelf", "-d", _native.__file__], capture_output=True, text=True, check=True
    ).stdout
    assert "libc.so" in needed
    for framework in ("torch", "c10", "xgboost", "libpython"):
        assert framework not in needed


def test_the_package_is_typed():
    assert (Path(cupel.__file__).parent / "py.typed").exists()
