"""Runs, and rules in three languages, for the tests of rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from cupel import _native
from cupel.core.modes import ModeKeys
from cupel.rules import Rule

ROOT = Path(__file__).resolve().parents[3]

LUA_TOO_LARGE = """
return cupel.rule{
  name = "LuaTooLarge",
  params = {limit = {default = 4, help = "fires above this"}},
  invoke_at_step = function(self, trial, step)
    for _, name in ipairs(trial:tensor_names{step = step}) do
      local value = trial:tensor(name):reduction_value(step, "max")
      if value > self.params.limit then
        self:issue{tensor = name, value = value, threshold = self.params.limit, message = "large"}
      end
    end
  end,
}
"""

PYTHON_TOO_LARGE = '''
from cupel.rules import Rule


class Helper:
    pass


class PyTooLarge(Rule):
    """Fires where a tensor is large.

    The greatest value is compared.
    """

    def __init__(self, base_trial, action_str="", limit=4.0, only_first=False, names=("",)):
        super().__init__(base_trial, action_str)
        self.limit, self.only_first, self.names = limit, only_first, names

    def invoke_at_step(self, step):
        found = []
        for name in self.base_trial.tensor_names(step=step):
            value = self.base_trial.tensor(name).reduction_value(step, "max")
            if value > self.limit and (not self.only_first or not found):
                found.append(dict(tensor=name, value=value, threshold=self.limit, message="large"))
        return found
'''


class RunBeingWritten:
    """A run whose steps are written one by one."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._hook = _native.Hook(
            {
                "out_dir": self.path,
                "save_all": True,
                "save_config": _native.SaveConfig(save_interval=1),
            }
        )
        self._hook.set_mode(ModeKeys.TRAIN)

    def step(self, tensors: Mapping[str, Any]) -> None:
        self._hook.next_step()
        for name, value in tensors.items():
            self._hook.save_tensor(name, value)
        self._hook.end_step()

    def end(self) -> None:
        self._hook.close()


def write_run(path: Path, steps: Sequence[Mapping[str, Any]]) -> str:
    """Writes a run that has ended, with these tensors at steps 0, 1, …"""
    run = RunBeingWritten(path)
    for tensors in steps:
        run.step(tensors)
    run.end()
    return run.path


class TooLarge(Rule):
    """The same rule as the two above, as an object."""

    def __init__(self, base_trial: Any, limit: float = 4.0, **options: Any) -> None:
        super().__init__(base_trial, **options)
        self.limit = limit

    def invoke_at_step(self, step: int) -> List[Dict[str, Any]]:
        found = []
        for name in self.base_trial.tensor_names(step=step):
            value = self.base_trial.tensor(name).reduction_value(step, "max")
            if value > self.limit:
                found.append(dict(tensor=name, value=value, threshold=self.limit, message="large"))
        return found


def rule_that(judge: Any, **members: Any) -> type:
    """A class of rules that judges by a function of the rule and the step."""
    return type("Judge", (Rule,), {"invoke_at_step": judge, **members})


def without_time(lines: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "time"} for line in lines]


