"""The snippets of docs/frameworks.md about PyTorch in Python, run one after another."""

from __future__ import annotations

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs" / "frameworks.md"
HEADING = "## PyTorch in Python\n"


def test_the_snippets_about_pytorch_in_python_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    section = DOCUMENT.read_text(encoding="utf-8").split(HEADING, 1)[1].split("\n## ", 1)[0]
    snippets = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(snippets) == 1
    names: dict = {}
    for snippet in snippets:
        exec(compile(snippet, str(DOCUMENT), "exec"), names)  # noqa: S102
    assert capsys.readouterr().out.startswith("[0, 10] 0.")
    assert "optimizer/lr_0" in smd_names(names)


def smd_names(names):
    return names["smd"].create_trial("runs/mnist").tensor_names()
