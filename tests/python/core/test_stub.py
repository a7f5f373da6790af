"""The stub of the extension, from which editors and mypy have its types."""

# requires: nanobind

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cupel


def test_the_stub_in_the_package_is_that_of_the_extension(tmp_path):
    made = tmp_path / "_native.pyi"
    stubgen = [sys.executable, "-m", "nanobind.stubgen", "-q", "-P", "-m", "cupel._native"]
    done = subprocess.run([*stubgen, "-o", str(made)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kept = Path(cupel.__file__).parent / "_native.pyi"
    assert made.read_text() == kept.read_text(), "scripts/make_stubs.sh writes it anew"
