# requires: xgboost
"""The snippets of docs/frameworks.md about XGBoost in Python, run one after another."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs" / "frameworks.md"
HEADING = "## XGBoost in Python\n"


def test_the_snippets_about_xgboost_in_python_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    section = DOCUMENT.read_text(encoding="utf-8").split(HEADING, 1)[1].split("\n## ", 1)[0]
    snippets = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(snippets) == 2
    names: dict = {}
    for snippet in snippets:
        exec(compile(snippet, str(DOCUMENT), "exec"), names)  # noqa: S102
    assert capsys.readouterr().out.startswith("[0, 5, 10, 15]\n0.")
    assert "feature_importance/gain/f0" in names["trial"].tensor_names()
