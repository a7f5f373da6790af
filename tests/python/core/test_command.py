"""`python -m cupel`: the command line of C++, with rules in Python."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rule_runs import PYTHON_TOO_LARGE, RunBeingWritten, write_run


def command(*arguments: Any, **options: Any) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "cupel", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.fixture
def run(tmp_path: Path) -> str:
    return write_run(tmp_path / "run", [{"w": [1.0, float(step)]} for step in range(8)])


@pytest.fixture
def rules(tmp_path: Path) -> Any:
    """Writes a file of rules, and returns its path."""

    def write(text: str, name: str = "my_rules.py") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def watch(run: str, *specs: str) -> subprocess.CompletedProcess:
    return command("watch", run, "--json", *[text for spec in specs for text in ("--rule", spec)])


def errors_of(run: str, spec: str) -> list:
    result = watch(run, spec)
    assert (result.returncode, result.stderr) == (2, "")
    return json.loads(result.stdout)


# ---- The command


def test_help_names_the_program_as_it_was_called() -> None:
    result = command("--help")
    assert result.returncode == 0
    assert "python -m cupel" in result.stdout
    assert "watch" in result.stdout
    assert "demo" not in result.stdout


def test_a_mistake_has_exit_code_2_and_the_name_of_the_program() -> None:
    result = command("steps", "/nowhere/at/all")
    assert result.returncode == 2
    assert result.stderr.startswith("python -m cupel steps: ")


def test_an_unknown_command_has_exit_code_2() -> None:
    assert command("dance").returncode == 2


def test_a_reading_command_prints_what_it_reads(run: str) -> None:
    result = command("steps", run, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)


def test_a_run_that_fires_has_exit_code_1(run: str, rules: Any) -> None:
    assert watch(run, rules(PYTHON_TOO_LARGE)).returncode == 1
    assert watch(run, rules(PYTHON_TOO_LARGE) + ",limit=100").returncode == 0


def test_an_interrupt_ends_a_watch_with_130(tmp_path: Path, rules: Any) -> None:
    writing = RunBeingWritten(tmp_path / "live")
    writing.step({"w": [9.0]})
    spec = rules(PYTHON_TOO_LARGE)
    with subprocess.Popen(
        [sys.executable, "-m", "cupel", "watch", writing.path, "--json", "--rule", spec],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert json.loads(process.stdout.readline())["step"] == 0
        process.send_signal(signal.SIGINT)
        last = json.loads(process.stdout.readline())
        assert last["rule"] == "PyTooLarge"
        assert process.wait(60) == 130
    writing.end()


# ---- Rules in Python files


@pytest.mark.parametrize("behind", ["", ":PyTooLarge", ":py_too_large"])
def test_a_rule_is_named_by_its_file_and_class(run: str, rules: Any, behind: str) -> None:
    result = watch(run, rules(PYTHON_TOO_LARGE) + behind)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["step"] for line in lines] == [5, 6, 7, 7]
    assert {line["rule"] for line in lines} == {"PyTooLarge"}


def test_parameters_are_converted_by_the_type_of_the_default(run: str, rules: Any) -> None:
    text = """
from cupel.rules import Rule

class Shows(Rule):
    def __init__(self, base_trial, action_str="", number=1.5, whole=3, on=False, words=("a",),
                 sizes=[1.0], name="x", nothing=None):
        super().__init__(base_trial, action_str)
        self.seen = (number, whole, on, words, sizes, name, nothing)

    def invoke_at_step(self, step):
        return [dict(message=repr(self.seen))] if step == 0 else []
"""
    spec = rules(text) + ":Shows,number=2,whole=4,on=True,words=b,c,sizes=1,2,name=y,nothing=z"
    line = json.loads(watch(run, spec).stdout.splitlines()[0])
    assert "(2.0, 4, True, ('b', 'c'), [1.0, 2.0], 'y', 'z')" in line["message"]


def test_defaults_are_those_of_the_constructor(run: str, rules: Any) -> None:
    text = """
from cupel.rules import Rule

class Shows(Rule):
    def __init__(self, base_trial, words=(), big=1e400, name=""):
        super().__init__(base_trial)
        self.seen = (words, big, name)

    def invoke_at_step(self, step):
        return [dict(message=repr(self.seen))] if step == 0 else []
"""
    assert "((), inf, '')" in json.loads(watch(run, rules(text)).stdout.splitlines()[0])["message"]


def test_an_unknown_parameter_is_an_error_that_lists_the_known_ones(run: str, rules: Any) -> None:
    (error,) = errors_of(run, rules(PYTHON_TOO_LARGE) + ":PyTooLarge,colour=3")
    assert "colour" in error["message"]
    assert "limit, only_first, names" in error["message"]


def test_a_parameter_of_the_wrong_type_is_an_error(run: str, rules: Any) -> None:
    (error,) = errors_of(run, rules(PYTHON_TOO_LARGE) + ":PyTooLarge,only_first=maybe")
    assert "only_first" in error["message"]


def test_a_parameter_without_default_is_required(run: str, rules: Any) -> None:
    text = """
from cupel.rules import Rule

class Needs(Rule):
    def __init__(self, base_trial, limit: float):
        super().__init__(base_trial)
        assert type(limit) is float

    def invoke_at_step(self, step):
        return False
"""
    (error,) = errors_of(run, rules(text))
    assert "limit" in error["message"]
    assert watch(run, rules(text) + ",limit=3").returncode == 0


def test_errors_have_exactly_the_keys_of_definition_errors(run: str, tmp_path: Path) -> None:
    (error,) = errors_of(run, str(tmp_path / "absent.py"))
    assert list(error) == ["file", "line", "message", "hint"]


def test_a_missing_file_is_an_error(run: str, tmp_path: Path) -> None:
    path = str(tmp_path / "absent.py")
    (error,) = errors_of(run, path + ":X")
    assert (error["file"], error["line"]) == (path, None)
    assert error["message"] == f"there is no file {path}"


def test_a_missing_class_is_an_error_that_names_the_rules(run: str, rules: Any) -> None:
    (error,) = errors_of(run, rules(PYTHON_TOO_LARGE) + ":Absent,limit=3")
    assert "has no rule Absent; it has PyTooLarge" in error["message"]


def test_a_class_that_is_no_rule_is_an_error_at_its_line(run: str, rules: Any) -> None:
    path = rules(PYTHON_TOO_LARGE)
    (error,) = errors_of(run, path + ":Helper")
    assert (error["file"], error["line"]) == (path, 5)
    assert error["message"].startswith("Helper is no rule: it does not derive from")


def test_an_exception_while_the_file_runs_is_an_error_at_its_line(run: str, rules: Any) -> None:
    path = rules("import os\n\nvalue = 1 / 0\n")
    (error,) = errors_of(run, path)
    assert (error["file"], error["line"]) == (path, 3)
    assert "ZeroDivisionError: division by zero" in error["message"]


def test_a_syntax_error_is_an_error_at_its_line(run: str, rules: Any) -> None:
    (error,) = errors_of(run, rules("x = 1\nclass A(:\n"))
    assert error["line"] == 2
    assert error["message"].startswith("SyntaxError: ")


def test_a_file_that_exits_does_not_end_the_command(run: str, rules: Any) -> None:
    (error,) = errors_of(run, rules("import sys\nsys.exit(0)\n"))
    assert (error["line"], error["message"]) == (2, "SystemExit: 0")


def test_a_missing_import_is_an_error_at_its_line(run: str, rules: Any) -> None:
    (error,) = errors_of(run, rules("\nimport no_such_module_anywhere\n"))
    assert error["line"] == 2
    assert "no_such_module_anywhere" in error["message"]


def test_a_file_may_import_modules_beside_it(run: str, rules: Any) -> None:
    rules(PYTHON_TOO_LARGE, "base_of_rules.py")
    path = rules(
        "from base_of_rules import PyTooLarge\n\nclass Derived(PyTooLarge):\n    pass\n", "main.py"
    )
    assert watch(run, path + ":Derived").returncode == 1


def test_an_exception_in_a_constructor_is_a_message_with_exit_code_2(run: str, rules: Any) -> None:
    path = rules(
        "from cupel.rules import Rule\n\nclass Bad(Rule):\n    def __init__(self, base_trial):\n"
        "        raise ValueError('no such thing')\n\n    def invoke_at_step(self, step):\n"
        "        return False\n"
    )
    result = watch(run, path)
    assert result.returncode == 2
    assert "ValueError: no such thing" in result.stderr
    assert "my_rules.py" in result.stderr


def test_all_mistakes_come_at_once(run: str, rules: Any, tmp_path: Path) -> None:
    path = rules(PYTHON_TOO_LARGE)
    result = watch(run, f"{path}:PyTooLarge,a=1", "NoSuchRule", str(tmp_path / "absent.py"))
    assert result.returncode == 2
    assert len(json.loads(result.stdout)) == 3


def test_rules_of_three_kinds_are_judged_side_by_side(run: str, rules: Any) -> None:
    lua = rules(
        'return cupel.rule{name = "L", invoke_at_step = function(self, step)\n'
        '  self:issue{tensor = "w", value = 1, threshold = 0}\nend}\n',
        "l.lua",
    )
    result = watch(run, rules(PYTHON_TOO_LARGE), "ExplodingTensor", lua)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["rule"] for line in lines if line["step"] == 6] == ["PyTooLarge", "L"]
    assert [line["rule"] for line in lines[-3:]] == ["PyTooLarge", "ExplodingTensor", "L"]


def test_a_configuration_may_name_a_python_file(run: str, rules: Any, tmp_path: Path) -> None:
    config = tmp_path / "rules.json"
    parameters = {"source_s3_uri": rules(PYTHON_TOO_LARGE), "rule_to_invoke": "PyTooLarge"}
    config.write_text(
        json.dumps([{"RuleConfigurationName": "mine", "RuleParameters": parameters}])
    )
    result = command("watch", run, "--json", "--config", config)
    assert json.loads(result.stdout.splitlines()[0])["name"] == "mine"


def test_a_python_rule_compares_with_other_runs(run: str, rules: Any, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [{"w": [5.0]}])
    text = """
from cupel.rules import Rule

class Compares(Rule):
    def __init__(self, base_trial, other_trials):
        super().__init__(base_trial, "", other_trials)

    def invoke_at_step(self, step):
        other = self.other_trials[0].tensor("w").value(0).item()
        return [dict(tensor="w", value=other)] if step == 0 else []
"""
    line = json.loads(watch(run, f"{rules(text)},other_trials={other}").stdout.splitlines()[0])
    assert line["tensors"][0]["value"] == 5
    (error,) = errors_of(run, rules(text))
    assert "other" in error["message"]


def test_an_error_in_a_rule_ends_with_exit_code_2_and_its_traceback(run: str, rules: Any) -> None:
    text = PYTHON_TOO_LARGE.replace("found = []", "found = missing_name")
    result = watch(run, rules(text))
    assert result.returncode == 2
    line = json.loads(result.stdout.splitlines()[-1])
    assert line["status"] == "Error"
    assert "NameError" in line["message"] and "my_rules.py" in line["message"]


def test_findings_are_escaped_for_a_terminal(run: str, rules: Any) -> None:
    text = PYTHON_TOO_LARGE.replace('message="large"', 'message="\\x1b[31mred"')
    result = command("watch", run, "--rule", rules(text))
    assert "\x1b" not in result.stdout
    assert "\\x1b[31mred" in result.stdout


def test_what_a_rule_prints_is_in_order_with_the_lines(run: str, rules: Any) -> None:
    text = PYTHON_TOO_LARGE.replace("found = []", "found = []; print('judging', step)")
    lines = watch(run, rules(text)).stdout.splitlines()
    printed = [line for line in lines if line.startswith("judging")]
    assert printed == [f"judging {step}" for step in range(8)]
    assert lines.index("judging 0") < next(i for i, line in enumerate(lines) if line[0] == "{")
    assert lines[-1][0] == "{"


def test_check_knows_rules_in_python(run: str, rules: Any) -> None:
    result = command("check", run, "--rule", rules(PYTHON_TOO_LARGE))
    assert (result.returncode, result.stderr) == (0, "")
    assert "PyTooLarge" in result.stdout


def test_the_page_of_a_rule_has_its_documentation_and_parameters(rules: Any) -> None:
    result = command("rules", rules(PYTHON_TOO_LARGE))
    assert result.returncode == 0
    for text in ("Fires where a tensor is large", "limit", "The greatest value is compared."):
        assert text in result.stdout


def test_reading_a_file_of_rules_leaves_no_files_behind(run: str, rules: Any) -> None:
    path = Path(rules(PYTHON_TOO_LARGE))
    watch(run, str(path))
    assert not (path.parent / "__pycache__").exists()
