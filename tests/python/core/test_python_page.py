"""docs/python.md: its programs and its commands print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
PAGE = CHECKOUT / "docs" / "python.md"
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_programs_and_commands_of_the_page_print_what_it_shows(tmp_path):
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}

    def printed_by(*command: str) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        has_fired = "IssuesFound" in done.stdout and command[1:3] == ("-m", "cupel")
        assert done.returncode == int(has_fired), done.stderr
        return done.stdout

    printed, shown = [], []
    for kind, text in BLOCK.findall(PAGE.read_text()):
        file = re.match(r"# (\w+\.py)\n", text)
        if kind == "text":
            shown.append(text)
        elif file:
            (tmp_path / file.group(1)).write_text(text)
        elif kind == "python":
            printed.append(printed_by(sys.executable, "-c", text))
        else:
            printed += [printed_by(sys.executable, *line.split()[1:]) for line in text.splitlines()]
    assert printed == shown
    assert len(shown) == 3
