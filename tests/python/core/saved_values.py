"""One value that is saved by a hook and read back by a trial."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import cupel


def save(run: pathlib.Path, value: Any, **options: Any) -> Any:
    """Saves "x" at step 0; returns the report."""
    hook = cupel.Hook(run, save_all=True, **options)
    hook.next_step()
    hook.save_tensor("x", value)
    return hook.close()


def saved(run: pathlib.Path, value: Any) -> tuple[str, np.ndarray]:
    """The dtype and the value of "x" as a trial reads them."""
    report = save(run, value)
    assert report.problems == [] and report.rows == 1
    tensor = cupel.create_trial(str(run)).tensor("x")
    return tensor.dtype(0), tensor.value(0)


def assert_saved(run: pathlib.Path, value: Any, dtype: str, expected: Any) -> None:
    found, array = saved(run, value)
    assert found == dtype
    expected = np.asarray(expected)
    assert array.shape == expected.shape
    np.testing.assert_array_equal(array, expected)


def assert_left_out(run: pathlib.Path, value: Any, why: str, error: type) -> None:
    """The value is reported once for its name, and raised where the hook raises."""
    hook = cupel.Hook(run, save_all=True, save_config=cupel.SaveConfig(save_interval=1))
    for _ in range(3):
        hook.next_step()
        hook.save_tensor("x", value)
        hook.save_tensor("kept", 1.0)
    report = hook.close()
    assert len(report.problems) == 1 and not report.disabled
    assert report.problems[0].startswith("cannot save x: ") and why in report.problems[0]
    assert report.rows == 3
    raising = cupel.Hook(run, save_all=True, existing="replace", on_error="throw")
    raising.next_step()
    with pytest.raises(error, match="cannot save x"):
        raising.save_tensor("x", value)
