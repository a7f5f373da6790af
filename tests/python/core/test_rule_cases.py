"""A rule in Python against the cases of the built-in rule of the same definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

import numpy
import pytest

from cupel import Collection
from cupel.core.access_layer.utils import training_has_ended
from cupel.core.modes import ModeKeys
from cupel.core.writer import FileWriter
from cupel.rules import RuleRunner
from cupel.trials import create_trial

from rule_runs import ROOT

ALL_ZERO = """
import numpy
from cupel.rules import Rule


class ZeroEverywhere(Rule):
    def __init__(self, base_trial, collection_names=(), tensor_regex=(), threshold=100.0):
        super().__init__(base_trial)
        self.collections, self.patterns = collection_names, list(tensor_regex)
        self.threshold = threshold

    def invoke_at_step(self, step):
        trial = self.base_trial
        names = set(trial.tensor_names(step=step, regex=self.patterns)) if self.patterns else set()
        for collection in self.collections:
            names.update(trial.tensor_names(step=step, collection=collection))
        found = []
        for name in sorted(names):
            value = trial.tensor(name).value(step)
            share = 100.0 * numpy.count_nonzero(value == 0) / value.size
            if share >= self.threshold:
                found.append(dict(tensor=name, value=share, threshold=self.threshold))
        return found
"""


def is_raw(tensor: Any) -> bool:
    return isinstance(tensor, (int, float, list))


def raw_cases() -> Iterator[Any]:
    file = ROOT / "tests" / "rules" / "cases" / "AllZero.json"
    for case in json.loads(file.read_text())["cases"]:
        plain = all(key not in case for key in ("workers", "other_run", "ticks", "values"))
        if plain and all(
            "tensors" in step and all(map(is_raw, step["tensors"].values()))
            for step in case.get("steps", [{}])
        ):
            yield pytest.param(case, id=case["name"])


def write_case(directory: str, case: Any) -> None:
    collections = []
    for name, patterns in case.get("collections", {}).items():
        collections.append(Collection(name))
        collections[-1].include(patterns)
    for entry in case["steps"]:
        steps = entry["step"] if isinstance(entry["step"], list) else [entry["step"]]
        for step in steps:
            with FileWriter(directory, step, collections=collections) as writer:
                for name, value in entry["tensors"].items():
                    writer.write_tensor(
                        numpy.array(value, "f4" if isinstance(value, list) else "f8"),
                        name,
                        ModeKeys[entry.get("mode", "TRAIN")],
                        entry.get("mode_step", step),
                    )
    training_has_ended(directory)


def findings_of(trial: Any, rule: str, parameters: Any) -> list:
    runner = RuleRunner(trial)
    runner.add(rule, **parameters)
    return [
        (line["step"], finding["name"], finding["worker"], finding["value"], finding["threshold"])
        for line in runner.run()
        if not line.get("final")
        for finding in line["tensors"]
    ]


def expected_of(case: Any) -> list:
    """What the lines of the case say: `fires TENSOR WORKER VALUE vs THRESHOLD: MESSAGE`."""
    found = []
    for step, lines in case["expect"].items():
        for line in lines:
            if line.startswith("fires "):
                words = line.split(": ")[0].split()
                found.append((int(step), words[1], words[2], float(words[3]), float(words[5])))
    return found


def test_there_are_cases() -> None:
    assert len(list(raw_cases())) >= 5


@pytest.mark.parametrize("case", list(raw_cases()))
def test_a_rule_in_python_finds_what_the_case_and_the_built_in_rule_say(
    case: Any, tmp_path: Path
) -> None:
    directory = str(tmp_path / "run")
    write_case(directory, case)
    file = tmp_path / "zero.py"
    file.write_text(ALL_ZERO)
    trial = create_trial(directory)
    parameters = case.get("parameters", {})
    found = findings_of(trial, f"{file}:ZeroEverywhere", parameters)
    assert found == expected_of(case)
    assert found == findings_of(trial, "AllZero", parameters)
