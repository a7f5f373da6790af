"""Rules in Python that are invoked by hand: Rule, RequiredTensors, invoke_rule."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from abc import ABC
from pathlib import Path
from typing import Any

import numpy
import pytest

from cupel.exceptions import (
    NoMoreData,
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from cupel.rules import RequiredTensors, Rule, invoke_rule
from cupel.trials import create_trial

from rule_runs import RunBeingWritten, TooLarge, rule_that, write_run


@pytest.fixture
def trial(tmp_path: Path) -> Any:
    steps = [{"w": [1.0, float(step)], **({"odd": [0.5]} if step % 2 else {})} for step in range(8)]
    return create_trial(write_run(tmp_path / "run", steps))


def answering(answer: Any) -> type:
    return rule_that(lambda self, step: answer)


def fires(trial: Any, answer: Any) -> bool:
    try:
        answering(answer)(trial).invoke(3)
    except RuleEvaluationConditionMet:
        return True
    return False


def test_invoke_raises_where_the_rule_fires(trial: Any) -> None:
    with pytest.raises(RuleEvaluationConditionMet) as raised:
        TooLarge(trial).invoke(5)
    assert (raised.value.rule_name, raised.value.step) == ("TooLarge", 5)
    assert raised.value.end_of_rule is False


def test_invoke_returns_nothing_where_the_rule_does_not_fire(trial: Any) -> None:
    assert TooLarge(trial).invoke(4) is None


@pytest.mark.parametrize(
    "answer", [True, 1, numpy.True_, numpy.array([True]), [{}], ({"value": 1},)], ids=repr
)
def test_true_and_findings_fire(trial: Any, answer: Any) -> None:
    assert fires(trial, answer)


@pytest.mark.parametrize("answer", [False, None, 0, numpy.False_, [], ()], ids=repr)
def test_false_and_no_findings_do_not_fire(trial: Any, answer: Any) -> None:
    assert not fires(trial, answer)


@pytest.mark.parametrize("answer", ["yes", {"tensor": "w"}, object, b"", {1}], ids=repr)
def test_an_answer_that_is_neither_bool_nor_findings_is_a_type_error(
    trial: Any, answer: Any
) -> None:
    with pytest.raises(SMDebugTypeError, match="a bool or a list of findings"):
        answering(answer)(trial).invoke(3)


@pytest.mark.parametrize(
    "finding, message",
    [
        ("w", "a finding is dict"),
        ({"tensor": 3}, "the tensor of a finding is text, not 3"),
        ({"value": "big"}, "the value of a finding is a number, not 'big'"),
        ({"threshold": [1, 2]}, "the threshold of a finding is a number"),
        ({"message": b"x"}, "the message of a finding is text"),
        ({"colour": 1}, "no key 'colour'; its keys are tensor, value, threshold, message, worker"),
    ],
)
def test_a_finding_with_a_wrong_entry_is_an_error(trial: Any, finding: Any, message: str) -> None:
    with pytest.raises((SMDebugTypeError, SMDebugValueError), match=message):
        answering([finding])(trial).invoke(3)


def test_a_rule_without_invoke_at_step_cannot_be_made(trial: Any) -> None:
    with pytest.raises(TypeError, match="invoke_at_step"):
        Rule(trial)  # type: ignore[abstract]


def test_a_rule_may_have_further_bases(trial: Any) -> None:
    class Base(Rule, ABC):
        pass

    class Derived(Base):
        def invoke_at_step(self, step: int) -> bool:
            return True

    with pytest.raises(RuleEvaluationConditionMet):
        Derived(trial).invoke(0)


def test_a_rule_of_something_that_is_no_trial_is_a_type_error() -> None:
    with pytest.raises(SMDebugTypeError, match="a rule takes trials"):
        answering(True)("runs/mnist")


def test_a_constructor_that_forgets_its_base_is_a_type_error(trial: Any) -> None:
    with pytest.raises(SMDebugTypeError, match=r"does not call super\(\).__init__"):
        rule_that(lambda self, step: True, __init__=lambda self, base: None)(trial).invoke(0)


def test_actions_that_are_no_json_are_left_out_with_a_warning(trial: Any, caplog: Any) -> None:
    answering(True)(trial, "{not json")
    assert "action_json is not JSON" in caplog.text


def test_the_attributes_are_those_of_the_sdk(trial: Any, tmp_path: Path) -> None:
    other = create_trial(write_run(tmp_path / "other", [{"w": [1.0]}]))
    rule = answering(False)(trial, action_str="", other_trials=[other])
    assert rule.rule_name == "Judge"
    assert rule.base_trial.path == trial.path
    assert [each.path for each in rule.other_trials] == [other.path]
    assert rule.actions == rule.action_str == ""
    assert rule.logger.name == "cupel"
    assert isinstance(rule.req_tensors, RequiredTensors)


def test_a_rule_sees_nothing_behind_the_step_it_judges(trial: Any) -> None:
    seen = []
    rule_that(lambda self, step: seen.append(self.base_trial.steps()))(trial).invoke(2)
    assert seen == [[0, 1, 2]]
    assert trial.steps() == list(range(8))


def test_a_step_behind_the_judged_one_is_not_yet_available(trial: Any) -> None:
    judge = rule_that(lambda self, step: self.base_trial.tensor("w").value(step + 1))
    with pytest.raises(StepNotYetAvailable):
        judge(trial).invoke(2)


def test_a_rule_that_is_not_being_invoked_sees_the_whole_run(trial: Any) -> None:
    rule = TooLarge(trial)
    rule.invoke(1)
    assert rule.base_trial.steps() == list(range(8))


def test_the_pin_is_taken_back_behind_an_exception(trial: Any) -> None:
    rule = rule_that(lambda self, step: 1 / 0)(trial)
    with pytest.raises(ZeroDivisionError):
        rule.invoke(1)
    assert rule.base_trial.steps() == list(range(8))


def test_an_exception_keeps_its_class_and_object(trial: Any) -> None:
    class Mine(Exception):
        pass

    error = Mine("x")

    def judge(self: Any, step: int) -> bool:
        raise error

    with pytest.raises(Mine) as raised:
        rule_that(judge)(trial).invoke(0)
    assert raised.value is error


@pytest.mark.parametrize(
    "error",
    [
        StepUnavailable(3),
        TensorUnavailable("x"),
        TensorUnavailableForStep("x", 3),
        RuleEvaluationConditionMet("other", 3, end_of_rule=True),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_of_cupel_come_out_with_their_attributes(trial: Any, error: Any) -> None:
    def judge(self: Any, step: int) -> bool:
        raise error

    with pytest.raises(type(error)) as raised:
        rule_that(judge)(trial).invoke(0)
    for name in set(vars(error)) - {"has_reductions"}:
        assert getattr(raised.value, name) == getattr(error, name)


def test_a_rule_is_freed_at_once_when_nobody_holds_it(trial: Any) -> None:
    rule = TooLarge(trial)
    rule.invoke(1)
    gone = weakref.ref(rule)
    del rule
    assert gone() is None


def test_the_trial_of_a_rule_outlives_the_rule(trial: Any) -> None:
    tensor = TooLarge(trial).base_trial.tensor("w")
    assert tensor.value(2).tolist() == [1, 2]


# ---- RequiredTensors


def requiring(*needs: Any, **options: Any) -> type:
    def require(self: Any, step: int) -> None:
        for name in needs:
            self.req_tensors.add(name, steps=[step], **options)

    return rule_that(
        lambda self, step: [tensor.name for tensor in self.req_tensors.get()] == ["w"],
        set_required_tensors=require,
    )


def test_required_tensors_are_there_when_the_rule_judges(trial: Any) -> None:
    with pytest.raises(RuleEvaluationConditionMet):
        requiring("w")(trial).invoke(3)


def test_a_required_tensor_that_nobody_saved_is_unavailable(trial: Any) -> None:
    with pytest.raises(TensorUnavailable) as raised:
        requiring("nowhere")(trial).invoke(3)
    assert raised.value.tname == "nowhere"


def test_a_required_tensor_of_other_steps_is_unavailable_for_the_step(trial: Any) -> None:
    with pytest.raises(TensorUnavailableForStep) as raised:
        requiring("odd")(trial).invoke(4)
    assert (raised.value.tname, raised.value.step) == ("odd", 4)


def test_a_pattern_may_match_no_required_tensor(trial: Any) -> None:
    requiring("^nowhere", should_match_regex=True)(trial).invoke(3)


def test_a_pattern_adds_all_tensors_that_match(trial: Any) -> None:
    needs = RequiredTensors(trial)
    needs.add(".", steps=[1, 3], should_match_regex=True)
    assert needs.get_names() == ["odd", "w"]
    assert needs.get_tensor_steps("odd") == [1, 3]
    assert needs.get_tensor_steps("w") == [1, 3]


def test_required_tensors_are_asked_for_anew_at_each_step(trial: Any) -> None:
    rule = requiring("w")(trial)
    for step in (2, 3):
        with pytest.raises(RuleEvaluationConditionMet):
            rule.invoke(step)
        assert rule.req_tensors.get_tensor_steps("w") == [step]


def test_steps_of_one_tensor_add_up(trial: Any) -> None:
    needs = RequiredTensors(trial)
    needs.add("w", steps=[1])
    needs.add("w", steps=range(2, 4))
    assert needs.get_tensor_steps("w") == [1, 2, 3]


def test_tensors_of_other_trials_are_required_by_the_object_that_was_given(
    trial: Any, tmp_path: Path
) -> None:
    other = create_trial(write_run(tmp_path / "other", [{"v": [1.0]}]))
    rule = answering(False)(trial, "", [other])
    rule.req_tensors.add("v", [0], trial=other)
    rule.req_tensors.add("v", [0], trial=rule.other_trials[0])
    assert rule.req_tensors.get_names(other) == ["v"]
    assert rule.req_tensors.get_names() == []
    rule.req_tensors.fetch()


def test_a_trial_of_another_rule_is_refused(trial: Any) -> None:
    with pytest.raises(SMDebugValueError, match="neither the base trial"):
        RequiredTensors(trial).add("w", [0], trial=create_trial(trial.path))


# ---- invoke_rule


@pytest.mark.parametrize("step", [1.9, True, "1"])
def test_a_required_step_that_is_no_whole_number_is_a_type_error(trial: Any, step: Any) -> None:
    with pytest.raises(SMDebugTypeError, match="steps"):
        TooLarge(trial).req_tensors.add("w", [step])


def test_invoke_rule_goes_on_until_there_is_no_more_data(trial: Any) -> None:
    seen: list = []
    with pytest.raises(NoMoreData) as raised:
        invoke_rule(rule_that(lambda self, step: seen.append(step))(trial))
    assert seen == list(range(8))
    assert raised.value.last_step == 7


def test_invoke_rule_ends_before_its_end_step(trial: Any) -> None:
    seen: list = []
    invoke_rule(rule_that(lambda self, step: seen.append(step))(trial), start_step=2, end_step=5)
    assert seen == [2, 3, 4]


def test_invoke_rule_takes_none_for_its_steps(trial: Any) -> None:
    with pytest.raises(NoMoreData):
        invoke_rule(answering(True)(trial), None, None)


def test_invoke_rule_raises_at_the_first_firing_where_asked(trial: Any) -> None:
    with pytest.raises(RuleEvaluationConditionMet) as raised:
        invoke_rule(TooLarge(trial), raise_eval_cond=True)
    assert raised.value.step == 5


def test_invoke_rule_passes_over_missing_tensors(trial: Any) -> None:
    seen: list = []

    def judge(self: Any, step: int) -> None:
        self.base_trial.tensor("odd").value(step)
        seen.append(step)

    invoke_rule(rule_that(judge)(trial), end_step=8)
    assert seen == [1, 3, 5, 7]


def test_invoke_rule_ends_where_the_rule_ends(trial: Any) -> None:
    seen: list = []

    def judge(self: Any, step: int) -> None:
        seen.append(step)
        if step == 3:
            raise RuleEvaluationConditionMet("Judge", step, end_of_rule=True)

    invoke_rule(rule_that(judge)(trial))
    assert seen == [0, 1, 2, 3]


def test_invoke_rule_lets_other_errors_out(trial: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        invoke_rule(rule_that(lambda self, step: 1 / 0)(trial))


def test_invoke_rule_of_something_else_is_a_type_error() -> None:
    with pytest.raises(SMDebugTypeError, match="derives from cupel.rules.Rule"):
        invoke_rule(object())  # type: ignore[arg-type]


def test_invoke_waits_for_a_step_that_is_still_to_come(tmp_path: Path) -> None:
    run = RunBeingWritten(tmp_path / "run")
    run.step({"w": [9.0]})
    rule = TooLarge(create_trial(run.path))
    writer = threading.Timer(0.1, lambda: (run.step({"w": [1.0]}), run.end()))
    writer.start()
    rule.invoke(1)
    writer.join()
    assert rule.base_trial.steps() == [0, 1]


def test_keyboard_interrupt_ends_the_waiting_within_a_tenth_of_a_second(tmp_path: Path) -> None:
    run = RunBeingWritten(tmp_path / "run")
    run.step({"w": [1.0]})
    sent: list = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        invoke_rule(TooLarge(create_trial(run.path)))
    assert time.monotonic() - sent[0] < 1  # the promise is 0.1 s; the machine may be busy
    timer.join()
    run.end()
