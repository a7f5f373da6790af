"""Pins of trials: whether queries see steps that are committed meanwhile."""

from __future__ import annotations

from contextlib import contextmanager
from typing import ContextManager, Iterator, Sequence, TypeVar, Union

from .. import _native
from ..exceptions import SMDebugTypeError
from ..trials import Trial

__all__ = ["no_refresh", "refresh"]

Trials = TypeVar("Trials", bound=Union[Trial, Sequence[Trial]])


@contextmanager
def _pinned(trials: Trials, follow: bool) -> Iterator[Trials]:
    several = [trials] if isinstance(trials, Trial) else list(trials)
    for trial in several:
        if not isinstance(trial, Trial):
            raise SMDebugTypeError(f"a trial is pinned, or a list of trials, not {trial!r}")
    pins = _native.Pins([trial._native for trial in several], follow)
    try:
        yield trials
    finally:
        pins.end()


def no_refresh(trials: Trials) -> ContextManager[Trials]:
    """Pins each trial to its newest steps: `with no_refresh(trial):` or a list of trials.

    Queries within the block answer from what was committed when it began. The block restores the
    state before it, so that blocks nest.
    """
    return _pinned(trials, False)


def refresh(trials: Trials) -> ContextManager[Trials]:
    """The opposite of `no_refresh`: within the block, queries see newly committed steps."""
    return _pinned(trials, True)
