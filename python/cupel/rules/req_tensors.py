"""RequiredTensors: what a rule needs of its trials before it can judge a step."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence

from ..core.arguments import as_steps
from ..exceptions import SMDebugValueError, TensorUnavailable

__all__ = ["RequiredTensors"]


class _Needs:
    """The tensors and steps that are needed of one trial."""

    def __init__(self, trial: Any) -> None:
        self.trial = trial
        self.steps: Dict[str, List[int]] = {}
        self.tensors: Dict[str, Any] = {}

    def add(self, name: str, steps: Iterable[int]) -> None:
        if name not in self.tensors:
            self.tensors[name] = self.trial.tensor(name)
            self.steps[name] = []
        self.steps[name].extend(steps)

    def fetch(self) -> None:
        steps = sorted({step for each in self.steps.values() for step in each})
        if steps:
            self.trial.wait_for_steps(steps)
        for name, needed in self.steps.items():
            for step in needed:
                self.tensors[name].workers(step)  # raises where nothing of it was saved


class RequiredTensors:
    """The tensors, and the steps of each, that a rule asks for in `set_required_tensors(step)`.

    Before the rule judges the step, `Rule.invoke` and the runner wait for these steps and check
    that each tensor was saved at them, in any form; else the step is skipped.
    """

    def __init__(self, base_trial: Any, other_trials: Optional[Sequence[Any]] = None) -> None:
        self.base_trial = base_trial
        self._all = [_Needs(trial) for trial in [base_trial, *(other_trials or [])]]
        self._given: List[Any] = []

    def _know(self, trials: Iterable[Any]) -> None:
        """Takes further objects for the trials, in their order."""
        self._given = list(trials)

    def _of(self, trial: Optional[Any]) -> _Needs:
        if trial is None:
            return self._all[0]
        for needs in self._all:
            if needs.trial is trial:
                return needs
        for given, needs in zip(self._given, self._all):
            if given is trial:
                return needs
        name = getattr(trial, "name", trial)
        raise SMDebugValueError(
            f"the trial {name!r} is neither the base trial of the rule nor one of its other trials"
        )

    def add(
        self,
        name: str,
        steps: Iterable[int],
        trial: Optional[Any] = None,
        should_match_regex: bool = False,
    ) -> None:
        """Asks for a tensor at steps of a trial; default: the base trial.

        With `should_match_regex` the name is a pattern, and all matching tensors are added, which
        may be none. Raises `TensorUnavailable` for a name that the trial has never seen.
        """
        needs = self._of(trial)
        steps = as_steps("steps", steps)
        if should_match_regex:
            for match in needs.trial.tensor_names(regex=[name]):
                needs.add(match, steps)
            return
        if not needs.trial.has_tensor(name):
            raise TensorUnavailable(name)
        needs.add(name, steps)

    def get_names(self, trial: Optional[Any] = None) -> List[str]:
        """The names of the required tensors of a trial."""
        return list(self._of(trial).tensors)

    def get_tensor_steps(self, name: str, trial: Optional[Any] = None) -> List[int]:
        """The steps at which a tensor is required."""
        needs = self._of(trial)
        if name not in needs.steps:
            raise SMDebugValueError(f"the tensor {name} is not required")
        return list(needs.steps[name])

    def get(self, trial: Optional[Any] = None) -> List[Any]:
        """The required tensors of a trial, as objects of class `Tensor`."""
        return list(self._of(trial).tensors.values())

    def clear(self) -> None:
        """Forgets all that was asked for."""
        for needs in self._all:
            needs.steps.clear()
            needs.tensors.clear()

    def fetch(self) -> None:
        """Waits for the required steps, and raises where a required tensor was not saved."""
        for needs in self._all:
            needs.fetch()
