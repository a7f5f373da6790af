"""A script in the SDK's documented words, whose imports name cupel, judges a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rule_runs import write_run

SCRIPT = """
import sys

from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import invoke_rule
from smdebug.rules.rule import Rule
from smdebug.trials import create_trial


class CustomGradientRule(Rule):
    def __init__(self, base_trial, threshold=10.0):
        super().__init__(base_trial, action_str="")
        self.threshold = float(threshold)

    def set_required_tensors(self, step):
        for tname in self.base_trial.tensor_names(regex="^gradient"):
            self.req_tensors.add(tname, steps=[step])

    def invoke_at_step(self, step):
        for tensor in self.req_tensors.get():
            abs_mean = tensor.reduction_value(step, "mean", abs=True)
            if abs_mean > self.threshold:
                return True
        return False


trial = create_trial(sys.argv[1])
rule = CustomGradientRule(trial, threshold=20.0)
try:
    invoke_rule(rule, start_step=0, end_step=None, raise_eval_cond=True)
except RuleEvaluationConditionMet as e:
    print(f"{e.rule_name} at {e.step}")
try:
    invoke_rule(rule, start_step=0)
except NoMoreData:
    print("no more data")
"""


def test_a_custom_rule_of_the_sdk_runs_with_cupel_in_its_imports(tmp_path: Path) -> None:
    steps = [{"gradient/w": [10.0 * step, -10.0 * step], "w": [1.0]} for step in range(5)]
    path = write_run(tmp_path / "run", steps)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("smdebug", "cupel"), path],
        capture_output=True,
        text=True,
    )
    assert result.stdout == "CustomGradientRule at 3\nno more data\n", result.stderr
