"""Fixtures of all tests in Python, and which tests a generation of the frameworks collects.

Tests run with PyPI's generation and with Debian's. A file whose first lines have
`# requires: torch>=2.4`, and a test marked `@pytest.mark.requires("torch>=2.4")`, are collected
only where the named module is installed in that version. Such a test is left out, never skipped:
a skipped test fails continuous integration. The summary has a line `left out: TEST` for each test
that a marker leaves out; one that both generations leave out fails continuous integration.
"""

from __future__ import annotations

import importlib
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_REQUIREMENT = re.compile(r"(?P<module>[A-Za-z_]\w*)\s*((?P<sign>>=|<)\s*(?P<version>[0-9.]+))?")
_FILE_REQUIREMENT = re.compile(r"^# requires: (.*)$", re.MULTILINE)
_FIRST_LINES = 2000  # bytes of a file that may have its requirements
_left_out: list[pytest.Item] = []


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (2, 13, 0) of 2.13.0+cpu."""
    found = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def is_met(requirement: str) -> bool:
    """Whether a module is installed, in a version that fits: `torch`, `torch>=2.4`, `numpy<2`."""
    parts = _REQUIREMENT.fullmatch(requirement.strip())
    if parts is None:
        raise ValueError(
            f"a requirement is MODULE, MODULE>=VERSION or MODULE<VERSION, not {requirement}"
        )
    try:
        module = importlib.import_module(parts["module"])
    except ImportError:
        return False
    if parts["sign"] is None:
        return True
    is_older = _numbers(module.__version__) < _numbers(parts["version"])
    return is_older == (parts["sign"] == "<")


def _requirements_of(file: Path) -> list[str]:
    with file.open(encoding="utf-8") as source:
        beginning = source.read(_FIRST_LINES)
    return [one for line in _FILE_REQUIREMENT.findall(beginning) for one in line.split(",")]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "requires(requirement, ...): the test is collected only where these modules are"
    )
    # A shell starts what it runs in the background with SIGINT ignored, also for its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.suffix != ".py" or not collection_path.is_file():
        return None
    return not all(map(is_met, _requirements_of(collection_path))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = []
    for item in items:
        wanted = [one for mark in item.iter_markers("requires") for one in mark.args]
        (kept if all(map(is_met, wanted)) else _left_out).append(item)
    if _left_out:
        config.hook.pytest_deselected(items=_left_out)
        items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    folder = Path(__file__).parent
    for item in _left_out:
        _, _, test = item.nodeid.partition("::")
        terminalreporter.write_line(f"left out: {item.path.relative_to(folder)}::{test}")


@pytest.fixture
def run_dir(tmp_path: Path) -> str:
    """The path of a run that is not there yet, as text."""
    return str(tmp_path / "run")


@pytest.fixture
def read_back() -> Callable[..., dict[int, dict[str, Any]]]:
    """Returns a function that reads a run: for each global step, the values by name.

    `read_back(run, mode=ModeKeys.TRAIN)` counts the steps of a mode. A tensor without a saved
    value, such as one with reductions only, is left out.
    """

    def read(run: str, **mode: Any) -> dict[int, dict[str, Any]]:
        from cupel.exceptions import TensorUnavailableForStep
        from cupel.trials import create_trial

        trial = create_trial(run)
        values: dict[int, dict[str, Any]] = {}
        for step in trial.steps(**mode):
            values[step] = {}
            for name in trial.tensor_names(step=step, **mode):
                try:
                    values[step][name] = trial.tensor(name).value(step, **mode)
                except TensorUnavailableForStep:
                    pass
        return values

    return read
