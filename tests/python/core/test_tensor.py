"""Tensors of a trial: what was saved, when, and by whom."""

import numpy
import pytest

from cupel import _native
from cupel.core.modes import ModeKeys
from cupel.core.writer import FileWriter
from cupel.exceptions import (
    InvalidWorker,
    NoMoreData,
    ShapeUnavailableForStep,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)
from cupel.trials import create_trial


@pytest.fixture
def trial(tmp_path):
    """TRAIN steps 0, 10, 20 with `w`; at 10 EVAL step 0 lies between; not ended."""
    run = _native.RunWriter(bytes(tmp_path), "worker_0", 1, [])
    for number, (mode, step) in enumerate(
        [(ModeKeys.TRAIN, 0), (ModeKeys.TRAIN, 10), (ModeKeys.EVAL, 0), (ModeKeys.TRAIN, 20)]
    ):
        run.step(number, mode, step)
        run.save("w", numpy.arange(6, dtype=numpy.float32).reshape(2, 3) - step)
    run.step(9, ModeKeys.TRAIN, 21)  # commits the last one, and stays empty
    run.close()
    return create_trial(tmp_path)


@pytest.fixture
def reduced(tmp_path):
    """`means` has reductions only, `both` the value too, and `shaped` its shape."""
    collections = []
    for name, config in (
        ("means", _native.ReductionConfig(["mean", "l1"], ["max"])),
        ("both", _native.ReductionConfig(["mean"], save_raw_tensor=True)),
        ("shaped", _native.ReductionConfig(save_shape=True)),
    ):
        collection = _native.Collection(name)
        collection.add_tensor_name(name)
        collection.reduction_config = config
        collections.append(collection)
    with FileWriter(tmp_path / "reduced", step=0, collections=collections) as writer:
        for name in ("means", "both", "shaped"):
            writer.write_tensor(numpy.array([1.0, -4.0]), name)
    return create_trial(tmp_path / "reduced")


def test_a_tensor_has_its_name_and_its_trial(trial):
    tensor = trial.tensor("w")
    assert tensor.name == "w"
    assert tensor.trial is trial


def test_steps_are_those_of_the_mode(trial):
    tensor = trial.tensor("w")
    assert tensor.steps() == [0, 1, 2, 3]
    assert tensor.steps(ModeKeys.TRAIN) == [0, 10, 20]
    assert tensor.steps(mode=None) == [0, 1, 2, 3]
    assert tensor.steps(ModeKeys.PREDICT, show_incomplete_steps=True) == []


def test_prev_steps_end_with_the_step_itself(trial):
    tensor = trial.tensor("w")
    assert tensor.prev_steps(20, 2, ModeKeys.TRAIN) == [10, 20]
    assert tensor.prev_steps(19, mode=ModeKeys.TRAIN) == [0, 10]
    assert tensor.prev_steps(20, n=0, mode=ModeKeys.TRAIN) == [0, 10, 20]


def test_values_come_by_step(trial):
    values = trial.tensor("w").values(ModeKeys.TRAIN)
    assert list(values) == [0, 10, 20]
    numpy.testing.assert_array_equal(values[10], [[-10, -9, -8], [-7, -6, -5]])


def test_the_workers_of_a_step_are_listed(trial):
    assert trial.tensor("w").workers(10, ModeKeys.TRAIN) == ["worker_0"]


def test_an_unknown_worker_is_invalid(trial):
    with pytest.raises(InvalidWorker) as raised:
        trial.tensor("w").value(0, worker="worker_7")
    assert raised.value.worker == "worker_7"


def test_a_step_that_was_passed_is_unavailable(trial):
    with pytest.raises(StepUnavailable) as raised:
        trial.tensor("w").value(5, ModeKeys.TRAIN)
    assert (raised.value.step, raised.value.mode) == (5, ModeKeys.TRAIN)


def test_a_step_that_may_come_is_not_yet_available(trial):
    with pytest.raises(StepNotYetAvailable):
        trial.tensor("w").value(30, ModeKeys.TRAIN)


def test_a_step_behind_the_end_is_no_more_data(trial):
    _native.end_run(trial.path.encode())
    trial.refresh()
    with pytest.raises(NoMoreData) as raised:
        trial.tensor("w").value(30, ModeKeys.TRAIN)
    assert raised.value.last_step == 20


def test_a_value_of_which_only_reductions_were_saved_is_unavailable(reduced):
    with pytest.raises(TensorUnavailableForStep) as raised:
        reduced.tensor("means").value(0)
    assert raised.value.tname == "means"
    assert raised.value.has_reductions is True


def test_the_shape_of_reductions_alone_is_unavailable(reduced):
    with pytest.raises(ShapeUnavailableForStep):
        reduced.tensor("means").shape(0)


def test_a_shape_is_a_tuple(reduced):
    assert reduced.tensor("shaped").shape(0) == (2,)
    assert reduced.tensor("both").shapes() == {0: (2,)}


def test_a_reduction_is_a_float64(reduced):
    value = reduced.tensor("means").reduction_value(0, "max", abs=True)
    assert type(value) is numpy.float64
    assert value == 4


def test_a_reduction_that_was_not_saved_is_computed_from_the_value(reduced):
    assert reduced.tensor("both").reduction_value(0, "min") == -4


def test_the_saved_reductions_come_by_name_and_magnitude(reduced):
    values = reduced.tensor("means").reduction_values(0)
    assert {key: value.tolist() for key, value in values.items()} == {
        ("mean", False): [-1.5],
        ("l1", False): [5.0],
        ("max", True): [4.0],
    }


def test_a_tensor_without_reductions_has_none(trial):
    assert trial.tensor("w").reduction_values(0) == {}


def test_an_unknown_reduction_is_a_value_error(reduced):
    with pytest.raises(SMDebugValueError, match="mode_of_travel"):
        reduced.tensor("both").reduction_value(0, "mode_of_travel")


def test_the_dtype_is_the_saved_one(trial, reduced):
    assert trial.tensor("w").dtype(0) == "f32"
    assert reduced.tensor("means").dtype(0) == "f64"


@pytest.mark.parametrize("step", ["0", 1.0, None, True])
def test_a_step_that_is_no_whole_number_is_a_type_error(trial, step):
    with pytest.raises(SMDebugTypeError, match="whole number"):
        trial.tensor("w").value(step)


def test_a_step_of_numpy_is_a_step(trial):
    assert trial.tensor("w").value(numpy.int64(0)).shape == (2, 3)


def test_a_mode_that_is_no_member_is_a_value_error(trial):
    with pytest.raises(SMDebugValueError, match="cupel.modes, TRAIN, EVAL.*'TRAIN'"):
        trial.tensor("w").value(0, "TRAIN")


def test_a_step_beyond_64_bits_is_a_value_error(trial):
    with pytest.raises(SMDebugValueError, match="64 bits"):
        trial.tensor("w").value(2**63)


def test_a_tensor_keeps_its_trial_alive(tmp_path):
    with FileWriter(tmp_path) as writer:
        writer.write_tensor(1.5, "x")
    tensor = create_trial(tmp_path).tensor("x")
    native = tensor._native
    del tensor
    assert native.value(0, None, None).tolist() == [1.5]
