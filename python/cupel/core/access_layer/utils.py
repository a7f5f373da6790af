"""The end marker of a run."""

from __future__ import annotations

import os
from typing import Union

from ... import _native
from ...exceptions import SMDebugRuntimeError
from ..arguments import as_path

__all__ = ["check_dir_exists", "has_training_ended", "training_has_ended"]


def training_has_ended(trial_prefix: Union[str, os.PathLike]) -> None:
    """Writes the end marker: readers then count every step of the run as complete."""
    _native.end_run(os.fsencode(as_path("trial_prefix", trial_prefix)))


def has_training_ended(trial_prefix: Union[str, os.PathLike]) -> bool:
    """Whether the run has ended."""
    return _native.run_has_ended(os.fsencode(as_path("trial_prefix", trial_prefix)))


def check_dir_exists(path: Union[str, os.PathLike]) -> None:
    """Raises SMDebugRuntimeError if a finished run is there."""
    if has_training_ended(path):
        raise SMDebugRuntimeError(f"a finished run is in the directory: {os.fsdecode(path)}")
