"""mypy accepts the package, and the examples in Python of the documents."""

# requires: mypy, nanobind, torch, xgboost

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]


def mypy(*arguments: object) -> str:
    """The output of mypy: its errors, or nothing."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT)
    assert not done.stderr, done.stderr
    return done.stdout


def test_mypy_accepts_the_package(tmp_path):
    assert mypy("--cache-dir", tmp_path) == ""


def test_mypy_accepts_the_examples_of_the_documents(tmp_path):
    programs = []
    for document in [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("**/*.md"))]:
        for section in document.read_text().split("\n## "):
            blocks = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
            for block in list(blocks):
                file = re.match(r"# (\w+\.py)\n", block)
                if file:  # A module that the section imports.
                    programs.append(tmp_path / file.group(1))
                    programs[-1].write_text(block)
                    blocks.remove(block)
            if blocks:
                programs.append(tmp_path / f"{document.stem}_{len(programs)}.py")
                programs[-1].write_text("\n".join(blocks))
    # A user's own model and data are not defined in the documents.
    known = ("--disable-error-code", "name-defined")
    assert mypy("--cache-dir", tmp_path / "cache", *known, *programs) == ""
