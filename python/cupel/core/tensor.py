"""One tensor of a trial, and the states that a step can have."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy

from .arguments import as_mode, as_step, as_text
from .modes import ModeKeys

if TYPE_CHECKING:
    from ..trials import Trial

__all__ = ["StepState", "Tensor"]


class StepState(Enum):
    """The state of a step in a trial."""

    UNAVAILABLE = 0  #: The run has passed the step without saving anything there.
    AVAILABLE = 1  #: The step is complete.
    NOT_YET_AVAILABLE = 2  #: The step may come, or more of its workers may.


def _as_worker(worker: Any) -> Optional[str]:
    return None if worker is None else as_text("worker", worker)


class Tensor:
    """One tensor of a trial, over all its steps. `Trial.tensor(name)` makes it.

    With mode GLOBAL a step is a global step of any mode. `worker` names the worker that saved the
    tensor; None is the first one, in the order of names, that has the step.

    Queries for one step raise `StepUnavailable` (the run has passed the step),
    `StepNotYetAvailable` (the step may come), `NoMoreData` (the run has ended before the step),
    `TensorUnavailableForStep` (only other tensors, or other data of this one, were saved there), or
    `InvalidWorker`.
    """

    def __init__(self, trial: Trial, native: Any) -> None:
        self._trial = trial
        self._native = native

    @property
    def name(self) -> str:
        """The name under which the tensor was saved."""
        return self._native.name

    @property
    def trial(self) -> Trial:
        """The trial that has the tensor."""
        return self._trial

    def steps(
        self, mode: Optional[ModeKeys] = ModeKeys.GLOBAL, show_incomplete_steps: bool = False
    ) -> List[int]:
        """The sorted steps at which anything of the tensor was saved."""
        return self._native.steps(as_mode(mode), bool(show_incomplete_steps))

    def prev_steps(
        self, step: int, n: Optional[int] = None, mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> List[int]:
        """The last `n` saved steps up to and including `step`; None: all of them."""
        count = 0 if n is None else max(as_step("n", n), 0)
        return self._native.prev_steps(as_step("step", step), count, as_mode(mode))

    def workers(self, step_num: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL) -> List[str]:
        """The workers that saved the tensor at the step."""
        return self._native.workers(as_step("step_num", step_num), as_mode(mode))

    def value(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
    ) -> numpy.ndarray:
        """The raw value as an array of the saved shape, which the caller may change.

        Its dtype is the saved one; bf16 becomes float32, and text `str`. Raises `FormatError` where
        the file is damaged.
        """
        return self._native.value(as_step("step_num", step_num), as_mode(mode), _as_worker(worker))

    def values(
        self, mode: Optional[ModeKeys] = ModeKeys.GLOBAL, worker: Optional[str] = None
    ) -> Dict[int, numpy.ndarray]:
        """Every raw value by step. Steps without one are left out."""
        return self._native.values(as_mode(mode), _as_worker(worker))

    def dtype(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
    ) -> str:
        """The saved dtype: bool, i8 to i64, u8 to u64, f16, bf16, f32, f64 or utf8."""
        return self._native.dtype(as_step("step_num", step_num), as_mode(mode), _as_worker(worker))

    def shape(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
    ) -> Tuple[int, ...]:
        """The shape. Raises `ShapeUnavailableForStep` where only reductions were saved."""
        return self._native.shape(as_step("step_num", step_num), as_mode(mode), _as_worker(worker))

    def shapes(
        self, mode: Optional[ModeKeys] = ModeKeys.GLOBAL, worker: Optional[str] = None
    ) -> Dict[int, Tuple[int, ...]]:
        """The shape by step. Steps without one are left out."""
        return self._native.shapes(as_mode(mode), _as_worker(worker))

    def reduction_value(
        self,
        step_num: int,
        reduction_name: str,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
        abs: bool = False,
    ) -> numpy.float64:
        """The saved reduction, else the same computed from the raw value.

        `reduction_name` is min, max, mean, std, variance, sum, prod, median, l1 or l2. `abs` asks
        for the reduction of the magnitudes.
        """
        return numpy.float64(
            self._native.reduction_value(
                as_step("step_num", step_num),
                as_text("reduction_name", reduction_name),
                as_mode(mode),
                _as_worker(worker),
                bool(abs),
            )
        )

    def reduction_values(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
    ) -> Dict[Tuple[str, bool], numpy.ndarray]:
        """All saved reductions: arrays of shape (1), by name and whether of the magnitudes."""
        saved = self._native.reduction_values(
            as_step("step_num", step_num), as_mode(mode), _as_worker(worker)
        )
        return {(name, magnitudes): numpy.array([value]) for name, magnitudes, value in saved}

    def __repr__(self) -> str:
        return f"<Tensor {self.name!r} of trial {self._trial.name!r}>"
