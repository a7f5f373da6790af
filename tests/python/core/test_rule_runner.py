"""RuleRunner: built-in, Lua and Python rules over one run, as C++ runs them."""

from __future__ import annotations

import gc
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from cupel.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    SMDebugValueError,
    StepUnavailable,
    StoreError,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from cupel.rules import RuleInterrupted, RuleRunner
from cupel.trials import create_trial

from rule_runs import (
    LUA_TOO_LARGE,
    PYTHON_TOO_LARGE,
    ROOT,
    RunBeingWritten,
    TooLarge,
    rule_that,
    without_time,
    write_run,
)


@pytest.fixture
def trial(tmp_path: Path) -> Any:
    steps = [{"w": [1.0, float(step)], "v": [float(step)]} for step in range(8)]
    return create_trial(write_run(tmp_path / "run", steps))


def run_of(trial: Any, *rules: Any, **options: Any) -> list:
    runner = RuleRunner(trial, **options)
    for rule in rules:
        runner.add(rule)
    return without_time(list(runner.run()))


def only_line(trial: Any, judge: Any) -> dict:
    (line,) = run_of(trial, rule_that(judge)(trial))
    return line


def raising(error: BaseException) -> Any:
    def judge(self: Any, step: int) -> None:
        raise error

    return judge


def renamed(lines: list, name: str) -> list:
    return [{**line, "rule": name, "name": name} for line in lines]


# ---- Lines


def test_a_finding_is_a_line_as_the_command_prints_it(trial: Any) -> None:
    first = run_of(trial, TooLarge(trial))[0]
    assert first["step"] == 5
    assert (first["rule"], first["name"]) == ("TooLarge", "TooLarge")
    assert first["status"] == "IssuesFound"
    assert first["tensors"] == [
        {"name": "v", "worker": "worker_0", "value": 5, "threshold": 4},
        {"name": "w", "worker": "worker_0", "value": 5, "threshold": 4},
    ]


def test_the_last_line_of_a_rule_closes_it(trial: Any) -> None:
    last = run_of(trial, TooLarge(trial))[-1]
    assert (last["status"], last["first_step"], last["steps_evaluated"]) == ("IssuesFound", 5, 8)


def test_true_fires_without_findings(trial: Any) -> None:
    lines = run_of(trial, rule_that(lambda self, step: step == 3)(trial))
    assert [(line["step"], line["status"]) for line in lines[:-1]] == [(3, "IssuesFound")]
    assert lines[0]["tensors"] == []


def test_a_rule_in_python_and_one_in_lua_give_the_same_lines(trial: Any, tmp_path: Path) -> None:
    file = tmp_path / "too_large.lua"
    file.write_text(LUA_TOO_LARGE)
    python = renamed(run_of(trial, TooLarge(trial)), "X")
    assert python == renamed(run_of(trial, str(file)), "X")
    assert len(python) == 4


def test_a_rule_in_a_python_file_gives_the_lines_of_its_object(trial: Any, tmp_path: Path) -> None:
    file = tmp_path / "too_large.py"
    file.write_text(PYTHON_TOO_LARGE)
    assert renamed(run_of(trial, f"{file}:PyTooLarge"), "X") == renamed(
        run_of(trial, TooLarge(trial)), "X"
    )


class Exploding(TooLarge):
    """ExplodingTensor's `only_nan` in Python."""

    def invoke_at_step(self, step: int) -> list:
        found = []
        for name in self.base_trial.tensor_names(step=step):
            value = self.base_trial.tensor(name).reduction_value(step, "mean")
            if math.isnan(value):
                found.append(dict(tensor=name, value=value))
        return found


@pytest.mark.parametrize("run", ["full", "small", "tiny", "killed", "joined"])
def test_three_kinds_of_rules_give_their_lines_in_one_order_over_recorded_runs(
    run: str, tmp_path: Path
) -> None:
    trial = create_trial(str(ROOT / "tests" / "golden" / "1.1" / run))
    file = tmp_path / "every.lua"
    file.write_text(
        'return cupel.rule{name = "EveryLua", invoke_at_step = function(self, trial, step)\n'
        "  for _, name in ipairs(trial:tensor_names{step = step}) do\n"
        '    self:issue{tensor = name, value = step, threshold = 0, message = "seen"}\n'
        "  end\nend}\n"
    )

    def every(self: Any, step: int) -> list:
        return [
            dict(tensor=name, value=step, threshold=0, message="seen")
            for name in self.base_trial.tensor_names(step=step)
        ]

    def judged(jobs: int) -> list:
        runner = RuleRunner(trial, jobs=jobs, wait=False)
        runner.add(str(file))
        runner.add(rule_that(every)(trial))
        runner.add("ExplodingTensor", only_nan=True)
        return without_time(list(runner.run()))

    lines = judged(1)
    assert lines == judged(4)
    lua = renamed([line for line in lines if line["name"] == "EveryLua"], "X")
    python = renamed([line for line in lines if line["name"] == "Judge"], "X")
    assert lua == python
    assert len(python) == len(trial.steps()) + 1
    order = [(line["step"], line["name"]) for line in lines[:-3]]
    rank = {"EveryLua": 0, "Judge": 1, "ExplodingTensor": 2}
    assert order == sorted(order, key=lambda each: (each[0], rank[each[1]]))


def test_the_lines_are_those_of_the_command(trial: Any) -> None:
    output = subprocess.run(
        [sys.executable, "-m", "cupel", "watch", trial.path, "--json"]
        + ["--rule", "TensorVariance,collection_names=all,min_threshold=1e-3"],
        capture_output=True,
        text=True,
    )
    expected = without_time([json.loads(line) for line in output.stdout.splitlines()])
    runner = RuleRunner(trial)
    runner.add("TensorVariance", collection_names=["all"], min_threshold=1e-3)
    assert without_time(list(runner.run())) == expected != []


# ---- Adding


def test_parameters_are_text_numbers_bools_and_lists(trial: Any, tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text(PYTHON_TOO_LARGE)
    runner = RuleRunner(trial)
    runner.add(str(file), limit="6.5", only_first=True, names=["a,b", "c"])
    findings = [line for line in runner.run() if line["step"] == 7][0]["tensors"]
    assert [finding["threshold"] for finding in findings] == [6.5]


def test_every_mistake_in_the_parameters_is_named(trial: Any) -> None:
    with pytest.raises(SMDebugValueError) as raised:
        RuleRunner(trial).add("VanishingGradient", threshold="x", colour="red")
    assert "threshold" in str(raised.value)
    assert "colour" in str(raised.value)


def test_an_unknown_rule_is_refused_with_the_nearest_name(trial: Any) -> None:
    with pytest.raises(SMDebugValueError, match="did you mean VanishingGradient"):
        RuleRunner(trial).add("VanishingGradients")


@pytest.mark.parametrize("thing", [None, 3, TooLarge])
def test_a_thing_that_is_no_rule_is_a_type_error(trial: Any, thing: Any) -> None:
    with pytest.raises(SMDebugTypeError, match="a rule is a name, a file or"):
        RuleRunner(trial).add(thing)


def test_the_parameters_of_an_object_are_refused(trial: Any) -> None:
    with pytest.raises(SMDebugTypeError, match="given to its class"):
        RuleRunner(trial).add(TooLarge(trial), limit=3)


def test_a_rule_over_another_run_is_refused(trial: Any, tmp_path: Path) -> None:
    other = create_trial(write_run(tmp_path / "other", [{"w": [1.0]}]))
    with pytest.raises(SMDebugValueError, match="the same trial"):
        RuleRunner(trial).add(TooLarge(other))


def test_a_second_rule_of_a_name_gets_a_number(trial: Any) -> None:
    lines = run_of(trial, TooLarge(trial), TooLarge(trial))
    assert {line["name"] for line in lines} == {"TooLarge", "TooLarge#2"}


def test_the_name_of_a_rule_may_be_set(trial: Any) -> None:
    rule = TooLarge(trial)
    rule.rule_name = "Mine"
    assert {line["name"] for line in run_of(trial, rule)} == {"Mine"}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"start_step": -1}, "start_step must not be negative"),
        ({"idle_timeout": -1.0}, "a time is a number of seconds"),
        ({"actions": ["dance"]}, "dance"),
    ],
)
def test_a_bad_option_is_refused(trial: Any, options: dict, message: str) -> None:
    with pytest.raises(SMDebugValueError, match=message):
        RuleRunner(trial, **options)


def test_an_unknown_option_is_a_type_error(trial: Any) -> None:
    with pytest.raises(TypeError, match="colour"):
        RuleRunner(trial, colour="red")


def test_options_limit_the_steps(trial: Any) -> None:
    seen: list = []
    run_of(trial, rule_that(lambda self, step: seen.append(step))(trial), start_step=2, end_step=4)
    assert seen == [2, 3]


def test_a_rule_may_end_at_its_first_firing(trial: Any) -> None:
    lines = run_of(trial, TooLarge(trial), stop_at_first=True)
    assert [line["step"] for line in lines] == [5, 5]


def test_actions_of_the_runner_and_of_the_rule_are_planned(trial: Any) -> None:
    rule = TooLarge(trial, action_str='{"name": "exec", "command": "true"}')
    lines = run_of(trial, rule, actions="stop", dry_run=True)
    assert [line["status"] for line in lines].count("Action") == 2


# ---- Errors and skips


@pytest.mark.parametrize(
    "error", [StepUnavailable(1), TensorUnavailable("x"), TensorUnavailableForStep("x", 1)]
)
def test_missing_data_skips_the_step(trial: Any, error: Exception) -> None:
    line = only_line(trial, raising(error))
    assert line["status"] != "Error"
    assert (line["steps_evaluated"], line["steps_skipped"]) == (8, 8)


def test_an_exception_ends_the_rule_with_its_traceback(trial: Any) -> None:
    def judge(self: Any, step: int) -> None:
        raise KeyError("the key")

    line = only_line(trial, judge)
    assert line["status"] == "Error"
    assert "KeyError: 'the key'" in line["message"]
    assert "test_rule_runner.py" in line["message"]
    assert "in judge" in line["message"]


def test_an_exception_ends_no_other_rule(trial: Any) -> None:
    bad = rule_that(lambda self, step: 1 / 0)(trial)
    assert renamed(run_of(trial, bad, TooLarge(trial))[1:], "X") != []
    alone = run_of(trial, TooLarge(trial))
    assert [line for line in run_of(trial, bad, TooLarge(trial)) if line["name"] == "TooLarge"] == (
        alone
    )


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_a_rule_cannot_end_the_program(trial: Any, error: BaseException) -> None:
    line = only_line(trial, raising(error))
    assert line["status"] == "Error"
    assert type(error).__name__ in line["message"]


def test_a_store_that_fails_for_a_moment_is_asked_again(trial: Any) -> None:
    failures = [StoreError("the key", retryable=True), None]

    def judge(self: Any, step: int) -> bool:
        failure = failures.pop(0) if failures else None
        if failure is not None:
            raise failure
        return False

    line = only_line(trial, judge)
    assert (line["status"], line["steps_evaluated"]) == ("NoIssuesFound", 8)


def test_garbage_is_an_error(trial: Any) -> None:
    line = only_line(trial, lambda self, step: "yes")
    assert line["status"] == "Error"
    assert "a bool or a list of findings" in line["message"]


def test_text_that_is_no_unicode_is_escaped(trial: Any) -> None:
    lines = run_of(trial, rule_that(lambda self, step: [dict(message="\ud800")])(trial), end_step=1)
    assert lines[0]["message"].endswith("\\ud800")


def test_an_endless_recursion_is_an_error(trial: Any) -> None:
    def judge(self: Any, step: int) -> None:
        judge(self, step)

    assert "RecursionError" in only_line(trial, judge)["message"]


def test_an_end_of_rule_fires_and_ends(trial: Any) -> None:
    def judge(self: Any, step: int) -> None:
        if step == 2:
            raise RuleEvaluationConditionMet("Judge", step, end_of_rule=True)

    lines = run_of(trial, rule_that(judge)(trial))
    assert [(line["step"], line["status"]) for line in lines] == [(2, "IssuesFound")] * 2


def test_a_rule_sees_nothing_behind_the_step_it_judges(trial: Any) -> None:
    seen: list = []
    run_of(trial, rule_that(lambda self, step: seen.append(self.base_trial.steps()[-1]))(trial))
    assert seen == list(range(8))


def test_rules_in_python_judge_one_at_a_time(trial: Any) -> None:
    inside, most = [0], [0]

    def judge(self: Any, step: int) -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        self.base_trial.tensor("w").value(step)  # lets other threads run
        time.sleep(0.001)
        inside[0] -= 1

    rules = [rule_that(judge)(trial) for _ in range(4)]
    run_of(trial, *rules, jobs=4)
    assert most == [1]


# ---- Runs that are being written


def test_lines_arrive_while_another_process_writes(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path[:0] = sys.argv[2:]; from pathlib import Path\n"
        "from rule_runs import RunBeingWritten\n"
        "run = RunBeingWritten(Path(sys.argv[1]))\n"
        "for line in sys.stdin: run.step({'w': [float(line)]}); print('done', flush=True)\n"
        "run.end()\n"
    )
    path = tmp_path / "run"
    folder = str(Path(__file__).parent)
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path), folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:

        def write(value: float) -> None:
            writer.stdin.write(f"{value}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n"

        write(9)
        trial = create_trial(path)
        runner = RuleRunner(trial)
        runner.add(TooLarge(trial))
        lines = runner.run()
        assert next(lines)["step"] == 0
        write(1)
        write(8)
        assert next(lines)["step"] == 2
        assert runner.progress.newest_step == 2
        writer.stdin.close()
        assert [line["status"] for line in lines] == ["IssuesFound"]
    assert runner.summary.found_issues
    assert runner.summary.rules[0].steps_evaluated == 3


@pytest.fixture
def unfinished(tmp_path: Path) -> Any:
    run = RunBeingWritten(tmp_path / "run")
    run.step({"w": [9.0]})
    yield run
    run.end()


def test_stop_ends_a_run_that_waits(unfinished: RunBeingWritten) -> None:
    trial = create_trial(unfinished.path)
    runner = RuleRunner(trial)
    runner.add(rule_that(lambda self, step: False)(trial))
    lines = runner.run()
    threading.Timer(0.1, runner.stop).start()
    assert [line["status"] for line in lines] == ["Stopped"]


def test_an_idle_timeout_ends_a_run_that_waits(unfinished: RunBeingWritten) -> None:
    trial = create_trial(unfinished.path)
    assert [line["step"] for line in run_of(trial, TooLarge(trial), idle_timeout=0.05)] == [0, 0]


def test_a_run_without_its_writer_is_reported_and_ends(tmp_path: Path) -> None:
    script = (
        "import os, sys; sys.path.append(sys.argv[2]); from pathlib import Path\n"
        "from rule_runs import RunBeingWritten\n"
        "run = RunBeingWritten(Path(sys.argv[1])); run.step({'w': [9.0]}); os._exit(0)\n"
    )
    path = str(tmp_path / "run")
    subprocess.run([sys.executable, "-c", script, path, str(Path(__file__).parent)], check=True)
    trial = create_trial(path)
    seen: list = []
    lines = run_of(trial, TooLarge(trial), until_writer_gone=True, on_status=seen.append)
    assert seen == ["interrupted"]
    assert [line["step"] for line in lines] == [0, 0]


def test_closing_the_iterator_stops_the_runner(unfinished: RunBeingWritten) -> None:
    trial = create_trial(unfinished.path)
    runner = RuleRunner(trial)
    runner.add(TooLarge(trial))
    lines = runner.run()
    next(lines)
    before = threading.active_count()
    lines.close()
    assert list(lines) == []
    assert threading.active_count() <= before


def test_an_iterator_that_nobody_holds_stops_the_runner(unfinished: RunBeingWritten) -> None:
    trial = create_trial(unfinished.path)
    runner = RuleRunner(trial)
    runner.add(TooLarge(trial))
    for _ in runner.run():
        break
    gc.collect()
    assert runner.summary is not None


def test_a_runner_that_is_never_closed_does_not_keep_the_interpreter(
    unfinished: RunBeingWritten,
) -> None:
    script = (
        "import sys; sys.path.append(sys.argv[2])\n"
        "from rule_runs import TooLarge; from cupel.rules import RuleRunner\n"
        "from cupel.trials import create_trial\n"
        "trial = create_trial(sys.argv[1]); runner = RuleRunner(trial)\n"
        "runner.add(TooLarge(trial)); lines = runner.run(); next(lines); print('end')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, unfinished.path, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


def test_a_runner_holds_its_rules_as_long_as_it_lives(trial: Any) -> None:
    runner = RuleRunner(trial)
    rule = TooLarge(trial)
    gone = weakref.ref(rule)
    runner.add(rule)
    del rule
    assert len(list(runner.run())) == 4
    assert gone() is not None
    del runner
    assert gone() is None


def test_a_runner_runs_once(trial: Any) -> None:
    runner = RuleRunner(trial)
    list(runner.run())
    with pytest.raises(SMDebugValueError, match="runs once"):
        runner.run()


def test_keyboard_interrupt_passes_within_a_tenth_of_a_second(unfinished: RunBeingWritten) -> None:
    trial = create_trial(unfinished.path)
    runner = RuleRunner(trial)
    runner.add(TooLarge(trial))
    lines = runner.run()
    next(lines)
    sent: list = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.2, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        next(lines)
    assert time.monotonic() - sent[0] < 1  # the promise is 0.1 s; the machine may be busy


def test_a_rule_that_never_returns_is_interrupted_when_the_iterator_is_closed(trial: Any) -> None:
    caught: list = []
    began = threading.Event()

    def judge(self: Any, step: int) -> None:
        began.set()
        try:
            while True:
                pass
        except Exception:  # does not catch the interruption
            caught.append("Exception")
        except RuleInterrupted:
            caught.append("RuleInterrupted")
            raise

    runner = RuleRunner(trial)
    runner.add(rule_that(judge)(trial))
    lines = runner.run()
    began.wait()
    lines.close()
    runner.close()
    assert caught == ["RuleInterrupted"]


def test_a_rule_that_never_returns_is_interrupted_after_stop(trial: Any) -> None:
    began = threading.Event()

    def judge(self: Any, step: int) -> None:
        began.set()
        while True:
            pass

    runner = RuleRunner(trial)
    runner.add(rule_that(judge)(trial))
    lines = runner.run()
    began.wait()
    runner.stop()
    (line,) = lines
    assert line["status"] in ("Stopped", "Error")


def test_a_rule_that_waits_outside_of_python_is_left_behind(trial: Any) -> None:
    began, may_return, returned = threading.Event(), threading.Event(), threading.Event()

    def judge(self: Any, step: int) -> None:
        began.set()
        try:
            may_return.wait()
        finally:
            returned.set()

    runner = RuleRunner(trial)
    runner.add(rule_that(judge)(trial))
    lines = runner.run()
    began.wait()
    lines.close()
    assert not returned.is_set()
    assert runner.summary is None
    may_return.set()
    assert returned.wait(60)


def test_many_lines_pass_through_the_bounded_queue_in_order(tmp_path: Path) -> None:
    steps = [{"w": [9.0]} for _ in range(600)]
    trial = create_trial(write_run(tmp_path / "run", steps))
    lines = run_of(trial, TooLarge(trial))
    assert [line["step"] for line in lines[:-1]] == list(range(600))


def test_lines_that_nobody_takes_do_not_hold_the_runner(tmp_path: Path) -> None:
    trial = create_trial(write_run(tmp_path / "run", [{"w": [9.0]} for _ in range(600)]))
    runner = RuleRunner(trial)
    runner.add(TooLarge(trial))
    lines = runner.run()
    next(lines)
    lines.close()
    assert runner.summary is not None


# ---- Restarts


def test_a_second_runner_goes_on_where_the_first_stopped(tmp_path: Path) -> None:
    run = RunBeingWritten(tmp_path / "run")
    out = tmp_path / "lines.jsonl"
    for value in (9, 1, 8):
        run.step({"w": [float(value)]})
    trial = create_trial(run.path)
    first = run_of(trial, TooLarge(trial), out=out, idle_timeout=0.05)
    assert [line["step"] for line in first[:-1]] == [0, 2]
    run.step({"w": [7.0]})
    run.end()
    second = run_of(trial, TooLarge(trial), out=out)
    assert [line["step"] for line in second[:-1]] == [3]
    kept = [json.loads(line)["step"] for line in out.read_text().splitlines()]
    assert [step for step in kept if step is not None][:2] == [0, 2]


def test_a_rule_with_other_code_does_not_resume(trial: Any, tmp_path: Path) -> None:
    out = tmp_path / "lines.jsonl"
    file = tmp_path / "rules.py"
    file.write_text(PYTHON_TOO_LARGE)
    run_of(trial, str(file), out=out)
    file.write_text(PYTHON_TOO_LARGE + "\n# changed\n")
    with pytest.raises(SMDebugValueError, match="PyTooLarge"):
        run_of(trial, str(file), out=out)


def test_rules_are_added_before_the_run(trial: Any) -> None:
    runner = RuleRunner(trial)
    runner.add(TooLarge(trial))
    lines = runner.run()
    next(lines)
    for late in (TooLarge(trial), "VanishingGradient"):
        with pytest.raises(SMDebugValueError, match="before run"):
            runner.add(late)


def test_a_parameter_that_is_given_twice_is_refused(trial: Any) -> None:
    with pytest.raises(SMDebugValueError, match="threshold of .* is given twice"):
        RuleRunner(trial).add("VanishingGradient,threshold=5", threshold="7")


def test_an_option_of_the_wrong_type_is_a_type_error(trial: Any) -> None:
    with pytest.raises(SMDebugTypeError, match="jobs"):
        RuleRunner(trial, jobs="x")


def test_a_forked_child_ends_while_a_runner_of_its_parent_runs(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [{"w": [1.0]}])
    script = f"""
import os, sys
from cupel.rules import RuleRunner
from cupel.trials import create_trial

runner = RuleRunner(create_trial({str(tmp_path / "run")!r}), wait=False)
runner.add("AllZero", tensor_regex="w")
lines = runner.run()
child = os.fork()
if child == 0:
    print(list(lines), flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(len(list(lines)))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[]", "1"]
