"""Arguments in the types that the engine takes; others are refused with an exception of cupel."""

from __future__ import annotations

import numbers
import operator
import os
import time
from typing import Any, List, Optional, Tuple

from ..exceptions import SMDebugTypeError, SMDebugValueError
from .modes import ModeKeys

__all__ = [
    "as_mode",
    "as_out_dir",
    "as_path",
    "as_range",
    "as_seconds",
    "as_step",
    "as_steps",
    "as_text",
    "as_texts",
]

StepRange = Tuple[Optional[int], Optional[int]]

_MOST = 2**63


def as_step(what: str, value: Any) -> int:
    """A step: an int, or an integer of numpy. A bool is refused."""
    try:
        if isinstance(value, bool):
            raise TypeError
        step = operator.index(value)
    except TypeError:
        raise SMDebugTypeError(f"{what} is a whole number, not {value!r}") from None
    if not -_MOST <= step < _MOST:
        raise SMDebugValueError(f"{what} is a number of 64 bits: {step}")
    return step


def as_steps(what: str, values: Any) -> List[int]:
    """Several steps."""
    try:
        return [as_step(what, value) for value in iter(values)]
    except TypeError as error:
        if isinstance(error, SMDebugTypeError):
            raise
        raise SMDebugTypeError(f"{what} is a list of whole numbers, not {values!r}") from None


def as_range(what: str, value: Any) -> Optional[StepRange]:
    """The steps begin <= step < end as a pair; either may be None."""
    if value is None:
        return None
    try:
        begin, end = value
    except (TypeError, ValueError):
        raise SMDebugTypeError(f"{what} is a pair (begin, end), not {value!r}") from None
    return (
        None if begin is None else as_step(what, begin),
        None if end is None else as_step(what, end),
    )


def as_seconds(what: str, value: Any) -> float:
    """A time; the engine refuses a negative one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise SMDebugTypeError(f"{what} is a number of seconds, not {value!r}")
    return float(value)


def as_mode(value: Any) -> ModeKeys:
    """A mode; None is GLOBAL."""
    if value is None:
        return ModeKeys.GLOBAL
    if not isinstance(value, ModeKeys):
        known = ", ".join(each.name for each in ModeKeys)
        raise SMDebugValueError(f"a mode is a member of cupel.modes, {known}, not {value!r}")
    return value


def as_text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SMDebugTypeError(f"{what} is a str, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SMDebugValueError(f"{what} is no valid Unicode: {value!r}") from None
    return value


def as_texts(what: str, value: Any) -> List[str]:
    """One text, or texts in lists of any depth."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple, set, frozenset)):
        return [as_text(what, value)]
    return [text for part in value for text in as_texts(what, part) if part is not None]


def as_path(what: str, value: Any) -> str:
    """A path without the blanks around it; `~` is the home directory."""
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise SMDebugTypeError(f"{what} is a path, not {value!r}") from None
    if "\0" in path:
        raise SMDebugValueError(f"{what} holds a NUL: {path!r}")
    return os.path.expanduser(path.strip())


def as_out_dir(value: Any) -> str:
    """The path of a new run: {time} is the UTC time, {job} TRAINING_JOB_NAME or the process id."""
    path = as_path("out_dir", value)
    job = os.environ.get("TRAINING_JOB_NAME") or str(os.getpid())
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return path.replace("{time}", now).replace("{job}", job)
