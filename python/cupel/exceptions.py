"""The exceptions of cupel.

Names, bases and attributes are those of the SDK that scripts are ported from.
"""

from __future__ import annotations

from typing import Optional

from .core.modes import ModeKeys

__all__ = [
    "DamagedValue",
    "Error",
    "FormatError",
    "IndexReaderException",
    "InsufficientInformationForRuleInvocation",
    "InvalidCollectionConfiguration",
    "InvalidWorker",
    "MissingCollectionFiles",
    "NoMoreData",
    "RuleEvaluationConditionMet",
    "SMDebugError",
    "SMDebugNotImplementedError",
    "SMDebugRuntimeError",
    "SMDebugTypeError",
    "SMDebugValueError",
    "ShapeUnavailableForStep",
    "StepNotYetAvailable",
    "StepUnavailable",
    "StoreError",
    "TensorUnavailable",
    "TensorUnavailableForStep",
]


class SMDebugError(Exception):
    """The root of all exceptions that cupel raises."""

    def __init__(self, *args: object, **attributes: object) -> None:
        super().__init__(*args)
        self.__dict__.update(attributes)

    def __reduce__(self) -> tuple:
        return (_restore, (type(self), self.args, self.__dict__))


def _restore(kind: type, args: tuple, attributes: dict) -> SMDebugError:
    """Makes an exception that was pickled, whatever arguments its class takes."""
    error = kind.__new__(kind, *args)
    Exception.__init__(error, *args)
    error.__dict__.update(attributes)
    return error


def _global_if_none(mode: Optional[ModeKeys]) -> ModeKeys:
    return ModeKeys.GLOBAL if mode is None else mode


Error = SMDebugError


class SMDebugValueError(SMDebugError, ValueError):
    """An argument has an illegal value."""


class SMDebugTypeError(SMDebugError, TypeError):
    """An argument has the wrong type."""


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    """The directory or the store does not allow the operation."""


class SMDebugNotImplementedError(SMDebugRuntimeError, NotImplementedError):
    """The operation does not exist here."""


class StoreError(SMDebugRuntimeError):
    """A store failed: `key` names the object, and `location` the store.

    `retryable` is True where the same call may succeed later.
    """

    def __init__(
        self, message: str, key: str = "", location: str = "", retryable: bool = False
    ) -> None:
        super().__init__(message, key=key, location=location, retryable=retryable)


class StepNotYetAvailable(SMDebugError):
    """The step has not been seen yet and may still come."""

    def __init__(self, step: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL) -> None:
        mode = _global_if_none(mode)
        super().__init__(f"step {step} of {mode.name} is not yet available", step=step, mode=mode)


class StepUnavailable(SMDebugError):
    """The run has passed the step without saving it; the step will never exist."""

    def __init__(self, step: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL) -> None:
        mode = _global_if_none(mode)
        super().__init__(f"step {step} of {mode.name} was not saved", step=step, mode=mode)


class NoMoreData(SMDebugError):
    """The training has ended before the step."""

    def __init__(
        self,
        step: int = -1,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        last_step: Optional[int] = None,
    ) -> None:
        mode = _global_if_none(mode)
        last = "" if last_step is None else f"; its last step is {last_step}"
        super().__init__(
            f"the training has ended before step {step} of {mode.name}{last}",
            step=step,
            mode=mode,
            last_step=last_step,
        )


class TensorUnavailable(SMDebugError):
    """No committed step contains the tensor so far."""

    def __init__(self, tname: str) -> None:
        super().__init__(f"tensor {tname} was not saved", tname=tname)


class TensorUnavailableForStep(SMDebugError):
    """The step exists; the requested data of the tensor do not."""

    def __init__(
        self,
        tname: str,
        step: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        has_reductions: bool = False,
    ) -> None:
        mode = _global_if_none(mode)
        also = "; only reductions of it were" if has_reductions else ""
        super().__init__(
            f"tensor {tname} was not saved at step {step} of {mode.name}{also}",
            tname=tname,
            step=step,
            mode=mode,
            has_reductions=has_reductions,
        )


class ShapeUnavailableForStep(TensorUnavailableForStep):
    """Neither the shape nor the value of the tensor was saved at the step."""


class InvalidCollectionConfiguration(SMDebugValueError):
    """A collection selects nothing: it has neither patterns nor names."""

    def __init__(self, c_name: str) -> None:
        super().__init__(
            f"collection {c_name} has neither include_regex nor tensor names", c_name=c_name
        )


class InvalidWorker(SMDebugError):
    """No worker of this name saved anything in the run."""

    def __init__(self, worker: str) -> None:
        super().__init__(f"worker {worker} saved nothing in the run", worker=worker)


class MissingCollectionFiles(SMDebugError):
    """There is no run at the path, or an ended run lacks files of workers."""

    def __init__(self, message: str = "the run has no collections file") -> None:
        super().__init__(message)


class IndexReaderException(SMDebugError):
    """A file of a run is not as its format demands."""

    def __init__(self, message: str) -> None:
        super().__init__(message, message=message)


class FormatError(IndexReaderException):
    """A file is damaged: `file` names it, `offset` is the place in it."""

    def __init__(self, message: str, file: str = "", offset: int = 0) -> None:
        super().__init__(message)
        self.file = file
        self.offset = offset


class DamagedValue(FormatError):
    """One value of a run is damaged; the steps and the other values are readable."""


class RuleEvaluationConditionMet(SMDebugError):
    """A rule's condition is met at a step."""

    def __init__(self, rule_name: str, step: int, end_of_rule: bool = False) -> None:
        super().__init__(
            f"the condition of rule {rule_name} is met at step {step}",
            rule_name=rule_name,
            step=step,
            end_of_rule=end_of_rule,
        )


class InsufficientInformationForRuleInvocation(SMDebugError):
    """A rule lacks what it needs to select tensors."""

    def __init__(self, rule_name: str, message: str) -> None:
        super().__init__(
            f"rule {rule_name} cannot be invoked: {message}", rule_name=rule_name, message=message
        )
