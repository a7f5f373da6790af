"""Rule: the base of conditions over a run that are written in Python."""

from __future__ import annotations

import numbers
import os
import traceback
import weakref
from abc import ABC, abstractmethod
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from .. import _native
from ..core.logger import get_logger
from ..exceptions import SMDebugTypeError, SMDebugValueError
from ..trials import Trial
from .req_tensors import RequiredTensors

__all__ = ["Finding", "Rule", "RuleInterrupted"]

Finding = Mapping[str, Any]
Judgement = Union[None, bool, Sequence[Finding]]

_KEYS = ("tensor", "value", "threshold", "message", "worker")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_TEXT = 16_384


class RuleInterrupted(BaseException):
    """Raised in a rule that still judges a step when its runner has been stopped for a while."""


class Rule(ABC):
    """A condition over a run, evaluated step by step. Derive and write `invoke_at_step`.

        class TooLarge(Rule):
            def __init__(self, base_trial, action_str="", threshold=10.0):
                super().__init__(base_trial, action_str)
                self.threshold = threshold

            def invoke_at_step(self, step):
                for name in self.base_trial.tensor_names(step=step, collection="gradients"):
                    value = self.base_trial.tensor(name).reduction_value(step, "max", abs=True)
                    if value > self.threshold:
                        return True
                return False

    `base_trial` and `other_trials` of the rule are views of the given trials. While a step is
    judged they are pinned to one snapshot each, and `base_trial` shows nothing behind that step, so
    that a rule finds the same while a run is written and afterwards.

    `action_str` is the JSON text of actions, which a `RuleRunner` carries out where the rule fires.
    A rule is judged by one thread at a time, and may keep state in its attributes.
    """

    base_trial: Trial
    other_trials: List[Trial]
    req_tensors: RequiredTensors
    rule_name: str

    def __init__(
        self,
        base_trial: Trial,
        action_str: str = "",
        other_trials: Optional[Sequence[Trial]] = None,
    ) -> None:
        others = list(other_trials or [])
        for trial in [base_trial, *others]:
            if not isinstance(trial, Trial):
                raise SMDebugTypeError(f"a rule takes trials (create_trial), not {trial!r}")
        if not isinstance(action_str, str) and action_str is not None:
            raise SMDebugTypeError(f"action_str is the JSON text of actions, not {action_str!r}")
        self.action_str = action_str or ""
        _native.check_actions(self.action_str)
        self._engine = _native.RuleEngine(base_trial, others, weakref.ref(self))
        self.trials = [Trial._of(view) for view in self._engine.views()]
        self.base_trial = self.trials[0]
        self.other_trials = self.trials[1:]
        self.req_tensors = RequiredTensors(self.base_trial, self.other_trials)
        self.req_tensors._know([base_trial, *others])
        self.logger = get_logger()
        self.rule_name = type(self).__name__

    @property
    def actions(self) -> str:
        """The JSON text of the rule's actions."""
        return self.action_str

    def set_required_tensors(self, step: int) -> None:
        """Asks for the tensors without which the step cannot be judged, in `self.req_tensors`."""

    @abstractmethod
    def invoke_at_step(self, step: int) -> Judgement:
        """Judges a global step: whether the rule fires, or a list of findings.

        A finding is `dict(tensor=, value=, threshold=, message=)`, of which each key may be left
        out; `worker=` is the worker that it is about. An empty list is no firing.
        `StepUnavailable`, `TensorUnavailable` and `TensorUnavailableForStep` skip the step. Every
        other exception ends the rule.
        """

    def invoke(self, step: int) -> None:
        """Waits for a step, judges it, and raises `RuleEvaluationConditionMet` if the rule fires.

        Raises `StepUnavailable` or `NoMoreData` where the step does not come.
        """
        _engine_of(self).invoke(step)

    def _judge(self, step: int) -> Union[bool, List[Tuple[str, str, float, float, str]]]:
        """The answer of the rule, in the form that the engine takes."""
        self.req_tensors.clear()
        self.set_required_tensors(step)
        self.req_tensors.fetch()
        return _answer(self.invoke_at_step(step))


def _engine_of(rule: Any) -> Any:
    if not isinstance(rule, Rule):
        raise SMDebugTypeError(f"a rule derives from cupel.rules.Rule; {rule!r} does not")
    engine = rule.__dict__.get("_engine")
    if engine is None:
        raise SMDebugTypeError(
            f"the constructor of {type(rule).__name__} does not call super().__init__(base_trial)"
        )
    return engine


def _answer(judgement: Any) -> Union[bool, List[Tuple[str, str, float, float, str]]]:
    if judgement is None:
        return False
    if isinstance(judgement, (list, tuple)):
        return [_finding(each) for each in judgement]
    if isinstance(judgement, numbers.Number):
        return bool(judgement)
    if hasattr(judgement, "item"):  # of numpy or of a framework; several elements are ValueError
        return bool(judgement.item())
    raise SMDebugTypeError(
        "invoke_at_step returns a bool or a list of findings, "
        f"dict(tensor=, value=, threshold=, message=), not {_short(judgement)}"
    )


def _finding(finding: Any) -> Tuple[str, str, float, float, str]:
    if not isinstance(finding, Mapping):
        raise SMDebugTypeError(
            f"a finding is dict(tensor=, value=, threshold=, message=), not {_short(finding)}"
        )
    unknown = [key for key in finding if key not in _KEYS]
    if unknown:
        raise SMDebugValueError(
            f"a finding has no key {_short(unknown[0])}; its keys are {', '.join(_KEYS)}"
        )
    return (
        _text(finding, "tensor"),
        _text(finding, "worker"),
        _number(finding, "value"),
        _number(finding, "threshold"),
        _text(finding, "message"),
    )


def _text(finding: Finding, key: str) -> str:
    value = finding.get(key)
    if value is None:
        return ""
    if key == "tensor" and not isinstance(value, str):
        value = getattr(value, "name", value)
    if not isinstance(value, str):
        raise SMDebugTypeError(f"the {key} of a finding is text, not {_short(value)}")
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _number(finding: Finding, key: str) -> float:
    value = finding.get(key)
    if value is None:
        return 0.0
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError):
        raise SMDebugTypeError(f"the {key} of a finding is a number, not {_short(value)}") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "…"


def error_text(error: BaseException) -> str:
    """The text of an exception: its class and message, then the traceback in the user's code."""
    frames = traceback.extract_tb(error.__traceback__)
    of_user = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    summary = "".join(traceback.format_exception_only(type(error), error)).strip()
    lines = traceback.format_list(of_user or frames)
    text = summary + "\nTraceback (most recent call last):\n" + "".join(lines)
    return text.rstrip().encode("utf-8", "backslashreplace").decode("utf-8")[:_MOST_TEXT]


def fingerprint_of(rule: Rule) -> str:
    """Tells the code of a rule from other code of the same name."""
    import inspect
    import zlib

    try:
        source = inspect.getsource(type(rule))
    except (OSError, TypeError):  # typed in, without a file
        return ""
    return str(zlib.crc32(source.encode()))
