"""The kinds of the parameters that a rule in a Python file has."""

from __future__ import annotations

import textwrap

import pytest

from cupel.core.rule_files import read_rule_file
from cupel.rules import RuleRunner
from cupel.trials import create_trial

from rule_runs import write_run


def kind_of(tmp_path, parameter, future=""):
    """The kind of one parameter, such as `x: int = 3`, of a rule in a file."""
    rule = f"""\
        {future}
        import typing
        from typing import List, Optional, Tuple, Union
        from cupel.rules import Rule

        if typing.TYPE_CHECKING:
            from somewhere import Elsewhere

        class Checks(Rule):
            def __init__(self, base_trial, {parameter}):
                super().__init__(base_trial)

            def invoke_at_step(self, step):
                return False
        """
    (tmp_path / "rules.py").write_text(textwrap.dedent(rule))
    found = read_rule_file(str(tmp_path / "rules.py"))
    assert found["errors"] == []
    return found["rules"][0]["parameters"][0]["kind"]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("float", "float"),
        ("Optional[float]", "float"),
        ("typing.Optional[int]", "int"),
        ("Union[None, bool]", "bool"),
        ("float | None", "float"),
        ("None | int", "int"),
        ("int | float | None", "float"),
        ("Union[int, str]", "text"),
        ("Optional[str]", "text"),
        ("list", "list"),
        ("Optional[List[str]]", "list"),
        ("Optional[List[float]]", "numbers"),
        ("list[int] | None", "numbers"),
        ("Optional[Tuple[float, ...]]", "numbers"),
    ],
)
def test_the_annotation_is_the_kind_where_no_default_is(tmp_path, annotation, kind, future):
    assert kind_of(tmp_path, f"x: {annotation}", future) == kind
    assert kind_of(tmp_path, f"x: {annotation} = None", future) == kind


@pytest.mark.parametrize("parameter", ["x", "x=None", "x: 'Elsewhere' = None"])
def test_a_parameter_of_an_unknown_type_is_text(tmp_path, parameter):
    assert kind_of(tmp_path, parameter) == "text"


def test_an_annotation_in_quotes_is_read(tmp_path):
    assert kind_of(tmp_path, "x: 'float | None' = None") == "float"


def test_a_default_is_the_kind_whatever_the_annotation(tmp_path):
    assert kind_of(tmp_path, "x: Optional[float] = 3") == "int"


@pytest.mark.parametrize("given, value", [({}, None), ({"threshold": 0.7}, 0.7)])
def test_a_rule_gets_a_number_for_an_optional_number(tmp_path, given, value):
    (tmp_path / "rules.py").write_text(
        "from typing import Optional\n"
        "from cupel.rules import Rule\n"
        "class Checks(Rule):\n"
        "    def __init__(self, base_trial, threshold: Optional[float] = None):\n"
        "        super().__init__(base_trial)\n"
        "        self.threshold = threshold\n"
        "    def invoke_at_step(self, step):\n"
        "        return [dict(message=repr(self.threshold))]\n"
    )
    run = write_run(tmp_path / "run", [{"x": 1.0}])
    runner = RuleRunner(create_trial(run))
    runner.add(f"{tmp_path / 'rules.py'}:Checks", **given)
    assert next(runner.run())["message"] == repr(value)
