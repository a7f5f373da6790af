"""FileWriter, and the end marker of a run."""

import contextlib
import threading

import numpy
import pytest

from cupel import _native
from cupel.core.access_layer.utils import (
    check_dir_exists,
    has_training_ended,
    training_has_ended,
)
from cupel.core.hook_utils import verify_and_get_out_dir
from cupel.core.modes import ModeKeys
from cupel.core.writer import FileWriter
from cupel.exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from cupel.trials import create_trial


def test_a_step_exists_when_its_writer_is_closed(tmp_path):
    writer = FileWriter(tmp_path, step=5, worker="worker_0")
    writer.write_tensor(tdata=numpy.arange(4.0), tname="x")
    writer.flush()
    assert create_trial(tmp_path).steps() == []
    writer.close()
    assert create_trial(tmp_path).steps() == [5]
    assert create_trial(tmp_path).tensor("x").value(5).tolist() == [0, 1, 2, 3]


def test_several_steps_are_written_one_after_another(tmp_path):
    for step in range(4):
        with FileWriter(tmp_path, step=step) as writer:
            writer.write_tensor(step * 1.5, "x")
    values = create_trial(tmp_path).tensor("x").values()
    assert {step: value.tolist() for step, value in values.items()} == {
        0: [0.0],
        1: [1.5],
        2: [3.0],
        3: [4.5],
    }


def test_a_step_has_a_mode_and_a_number_in_it(tmp_path):
    with FileWriter(tmp_path, step=7) as writer:
        writer.write_tensor(1.0, "x", mode=ModeKeys.EVAL, mode_step=2)
        writer.write_tensor(2.0, "y", mode=ModeKeys.EVAL, mode_step=2)
    trial = create_trial(tmp_path)
    assert trial.mode(7) is ModeKeys.EVAL
    assert trial.tensor("y").value(2, ModeKeys.EVAL).tolist() == [2.0]


def test_a_step_has_one_mode(tmp_path):
    with FileWriter(tmp_path) as writer:
        writer.write_tensor(1.0, "x", mode=ModeKeys.EVAL)
        with pytest.raises(SMDebugValueError, match="EVAL step 0, not TRAIN step 0"):
            writer.write_tensor(1.0, "y", mode=ModeKeys.TRAIN)


def test_two_workers_write_one_run(tmp_path):
    for worker in ("worker_0", "worker_1"):
        with FileWriter(tmp_path, worker=worker, num_workers=2) as writer:
            writer.write_tensor(1.0, worker)
    trial = create_trial(tmp_path)
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.tensor_names(step=0) == ["worker_0", "worker_1"]


def test_collections_of_a_writer_are_seen_by_readers(tmp_path):
    losses = _native.Collection("losses")
    losses.include_regex = ["loss"]
    with FileWriter(tmp_path, collections=[losses]) as writer:
        writer.write_tensor(1.0, "train_loss")
    assert create_trial(tmp_path).tensor_names(collection="losses") == ["train_loss"]


def test_what_is_no_collection_is_a_type_error(tmp_path):
    with pytest.raises(SMDebugTypeError, match="Collection"):
        FileWriter(tmp_path, collections=["losses"])


def test_a_writer_without_values_leaves_no_step(tmp_path):
    FileWriter(tmp_path).close()
    assert create_trial(tmp_path).steps() == []


def test_a_closed_writer_refuses_values(tmp_path):
    writer = FileWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.raises(SMDebugRuntimeError, match="closed"):
        writer.write_tensor(1.0, "x")


def test_a_writer_may_be_closed_while_a_value_is_converted(tmp_path):
    writer = _native.RunWriter(str(tmp_path).encode(), "worker_0", 1, [])
    writer.step(0, ModeKeys.TRAIN, 0)

    class Closing:
        def __array__(self, *arguments, **options):
            writer.close()
            return numpy.ones(3)

    with pytest.raises(SMDebugValueError, match="the writer is closed"):
        writer.save("x", Closing())


def test_a_writer_may_be_closed_by_another_thread_while_it_saves(tmp_path):
    values = numpy.ones(1 << 20)
    for attempt in range(10):
        path = tmp_path / str(attempt)
        writer = _native.RunWriter(str(path).encode(), "worker_0", 1, [])
        writer.step(0, ModeKeys.TRAIN, 0)
        closing = threading.Thread(target=writer.close)
        closing.start()
        with contextlib.suppress(SMDebugValueError):  # closed before
            for number in range(20):
                writer.save(f"x{number}", values)
        closing.join()


@pytest.mark.parametrize("worker", ["", "a/b", "." * 200])
def test_a_worker_of_an_illegal_name_is_a_value_error(tmp_path, worker):
    with pytest.raises(SMDebugValueError):
        FileWriter(tmp_path, worker=worker)


@pytest.mark.parametrize("step", ["0", None, 1.5])
def test_a_step_that_is_no_number_is_a_type_error(tmp_path, step):
    with pytest.raises(SMDebugTypeError, match="step"):
        FileWriter(tmp_path, step=step)


def test_a_negative_step_is_a_value_error(tmp_path):
    with pytest.raises(SMDebugValueError, match="-1"):
        FileWriter(tmp_path, step=-1)


def test_a_run_ends_when_its_marker_is_written(tmp_path):
    with FileWriter(tmp_path) as writer:
        writer.write_tensor(1.0, "x")
    assert not has_training_ended(tmp_path)
    training_has_ended(tmp_path)
    assert has_training_ended(str(tmp_path))
    assert create_trial(tmp_path).loaded_all_steps


def test_a_directory_that_is_not_there_has_not_ended(tmp_path):
    assert not has_training_ended(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_finished_run_is_not_written_again(tmp_path):
    training_has_ended(tmp_path)
    with pytest.raises(SMDebugRuntimeError, match="finished"):
        FileWriter(tmp_path)


def test_a_directory_with_a_finished_run_is_refused(tmp_path):
    check_dir_exists(tmp_path)
    training_has_ended(tmp_path)
    with pytest.raises(SMDebugRuntimeError, match="finished run"):
        verify_and_get_out_dir(tmp_path)


def test_an_out_dir_is_returned_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert verify_and_get_out_dir("~/run") == str(tmp_path / "run")


@pytest.mark.parametrize("out_dir", [None, "", "  "])
def test_a_missing_out_dir_is_a_runtime_error(out_dir):
    with pytest.raises(SMDebugRuntimeError, match="out_dir is missing"):
        verify_and_get_out_dir(out_dir)
