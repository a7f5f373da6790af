"""Trial: steps, names, collections, waiting, pins."""

import _thread
import logging
import pickle
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest

from cupel import _native
from cupel.analysis.utils import no_refresh, refresh
from cupel.core.logger import get_logger
from cupel.core.modes import ModeKeys
from cupel.core.tensor import StepState
from cupel.core.writer import FileWriter
from cupel.exceptions import (
    InvalidWorker,
    MissingCollectionFiles,
    NoMoreData,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
)
from cupel.trials import LocalTrial, Trial, create_trial

GOLDEN = Path(__file__).parents[2] / "golden" / "1.1"
TRAIN, EVAL, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL


class Run:
    """A run that grows: `run.step(TRAIN, 0, w=1.0)` commits a step."""

    def __init__(self, directory, collections=()):
        self.directory = directory
        self.native = _native.RunWriter(bytes(directory), "worker_0", 1, list(collections))
        self.steps = 0

    def step(self, mode, number, **tensors):
        """Every step has the next even global number; the odd ones commit them and stay empty."""
        self.native.step(self.steps, mode, number)
        for name, value in tensors.items():
            self.native.save(name, value)
        self.native.step(self.steps + 1, ModeKeys.PREDICT, self.steps)
        self.steps += 2

    def end(self):
        self.native.close()
        _native.end_run(bytes(self.directory))


def collection(name, *patterns):
    made = _native.Collection(name)
    made.include_regex = list(patterns)
    return made


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path / "mnist", [collection("losses", "loss"), collection("inputs", "^in")])
    run.step(TRAIN, 0, w=numpy.zeros(3), loss=0.5)
    run.step(TRAIN, 10, w=numpy.ones(3), loss=0.25)
    run.step(EVAL, 0, w=numpy.ones(3), val_loss=0.75, in_2=2.0, in_10=10.0, labels=1)
    return run


@pytest.fixture
def trial(run):
    return create_trial(run.directory)


# ---- Opening


def test_a_trial_has_the_last_part_of_the_path_as_its_name(trial, run):
    assert trial.name == "mnist"
    assert trial.path == str(run.directory)
    assert trial.format == "cupel"


def test_a_name_may_be_given(run):
    assert create_trial(str(run.directory), name="first").name == "first"


def test_blanks_around_a_path_are_dropped(run):
    assert create_trial(f"  {run.directory}\n").steps() == [0, 2, 4]


def test_a_home_directory_is_expanded(run, monkeypatch):
    monkeypatch.setenv("HOME", str(run.directory.parent))
    assert create_trial("~/mnist").steps() == [0, 2, 4]


def test_a_path_need_not_be_utf8(tmp_path):
    directory = tmp_path / "\udcff"
    with FileWriter(directory) as writer:
        writer.write_tensor(1.0, "x")
    trial = create_trial(directory)
    assert trial.steps() == [0]
    assert (trial.path, trial.name) == (str(directory), "\udcff")


def test_a_local_trial_takes_the_name_first(run):
    trial = LocalTrial("mine", str(run.directory), range_steps=(2, None))
    assert (trial.name, trial.steps()) == ("mine", [2, 4])
    assert isinstance(trial, Trial)
    assert isinstance(create_trial(run.directory), LocalTrial)


@pytest.mark.parametrize(
    ("steps", "loaded"), [((0, 4), [0, 2]), ((2, None), [2, 4]), ((None, 1), [0])]
)
def test_range_steps_limit_the_global_steps(run, steps, loaded):
    assert create_trial(run.directory, range_steps=steps).steps() == loaded


@pytest.mark.parametrize("steps", [(3, 3), (-1, 4), (5, 2)])
def test_an_impossible_range_is_a_value_error(run, steps):
    with pytest.raises(SMDebugValueError):
        create_trial(run.directory, range_steps=steps)


@pytest.mark.parametrize("steps", [5, (1, 2, 3), ("a", 2), (1.0, 2)])
def test_a_range_of_other_types_is_a_type_error(run, steps):
    with pytest.raises(SMDebugTypeError, match="range_steps"):
        create_trial(run.directory, range_steps=steps)


def test_a_path_that_is_none_is_a_type_error():
    with pytest.raises(SMDebugTypeError, match="path"):
        create_trial(None)


def test_a_directory_without_a_run_has_no_collection_files(tmp_path):
    with pytest.raises(MissingCollectionFiles):
        create_trial(tmp_path)


def test_an_unknown_scheme_is_a_value_error():
    with pytest.raises(SMDebugValueError, match="gopher"):
        create_trial("gopher://somewhere/run")


def test_a_run_that_comes_is_waited_for(tmp_path):
    opened = []
    thread = threading.Thread(
        target=lambda: opened.append(create_trial(tmp_path / "later", wait_for_run=60))
    )
    thread.start()
    Run(tmp_path / "later").step(TRAIN, 0, w=1.0)
    thread.join()
    opened[0].wait_for_steps([0], timeout=60)


# ---- Steps


def test_steps_are_counted_by_mode(trial):
    assert trial.steps() == [0, 2, 4]
    assert trial.steps(TRAIN) == [0, 10]
    assert trial.steps(mode=EVAL) == [0]
    assert trial.steps(None) == [0, 2, 4]
    assert trial.steps(show_incomplete_steps=True) == [0, 2, 4]
    assert trial.modes() == [TRAIN, EVAL]


def test_steps_of_modes_and_global_steps_are_translated(trial):
    assert trial.mode(4) is EVAL
    assert trial.mode_step(2) == 10
    assert trial.global_step(TRAIN, 10) == 2
    assert trial.global_step(GLOBAL, 4) == 4


def test_an_unknown_step_has_no_mode(trial):
    assert trial.mode(99) is None
    assert trial.mode_step(99) is None
    assert trial.global_step(TRAIN, 5) is None


def test_has_passed_step_is_a_step_state(trial):
    assert trial.has_passed_step(10, TRAIN) is StepState.AVAILABLE
    assert trial.has_passed_step(5, TRAIN) is StepState.UNAVAILABLE
    assert trial.has_passed_step(50, TRAIN) is StepState.NOT_YET_AVAILABLE
    assert [state.value for state in StepState] == [0, 1, 2]


def test_a_run_that_ends_has_loaded_all_steps(run, trial):
    assert (trial.loaded_all_steps, trial.last_complete_step) == (False, 4)
    run.end()
    trial.refresh()
    assert trial.loaded_all_steps
    assert trial.has_passed_step(50) is StepState.UNAVAILABLE


def test_a_trial_follows_a_run_that_grows(run, trial):
    assert not trial.has_tensor("late")
    run.step(TRAIN, 20, late=1.0)
    assert trial.refresh()
    assert trial.steps(TRAIN) == [0, 10, 20]
    assert trial.tensor("late").value(20, TRAIN).tolist() == [1.0]


# ---- Names and collections


def test_names_are_sorted(trial):
    assert trial.tensor_names() == ["in_10", "in_2", "labels", "loss", "val_loss", "w"]


def test_names_of_a_step_are_those_saved_there(trial):
    assert trial.tensor_names(step=0) == ["loss", "w"]
    assert trial.tensor_names(10, TRAIN) == ["loss", "w"]
    assert trial.tensor_names(step=5) == []


def test_names_of_a_mode_are_those_saved_in_it(trial):
    assert trial.tensor_names(mode=TRAIN) == ["loss", "w"]


def test_names_are_searched_by_patterns(trial):
    assert trial.tensor_names(regex="loss$") == ["loss", "val_loss"]
    assert trial.tensor_names(regex=["^w", ["^val"]]) == ["val_loss", "w"]
    assert trial.tensor_names(regex="nothing") == []


def test_a_pattern_that_does_not_compile_is_a_value_error(trial):
    with pytest.raises(SMDebugValueError, match="pattern"):
        trial.tensor_names(regex="(")


def test_names_of_a_collection_are_found(trial):
    assert trial.tensor_names(collection="losses") == ["loss", "val_loss"]
    assert trial.tensor_names(step=0, collection="losses") == ["loss"]
    assert trial.tensor_names(collection="unknown") == []


def test_regex_and_collection_exclude_each_other(trial):
    with pytest.raises(ValueError, match="not both"):
        trial.tensor_names(regex="w", collection="losses")


def test_a_collection_that_was_changed_is_used_by_object_and_by_name(trial):
    mine = trial.collection("mine")
    assert mine.tensor_names == set()
    mine.include(["^w$"])
    assert trial.tensor_names(collection=mine) == ["w"]
    assert trial.tensor_names(step=0, collection="mine") == ["w"]


def test_a_name_that_the_caller_removes_from_a_collection_stays_removed(tmp_path):
    run = Run(tmp_path / "mine", [collection("mine", "^a")])
    run.step(TRAIN, 0, a1=1.0, a2=1.0)
    trial = create_trial(tmp_path / "mine")
    mine = trial.collection("mine")
    mine.remove_tensor_name("a2")
    mine.include_regex = ["^a1"]
    assert trial.tensor_names(collection="mine") == ["a1"]
    assert trial.collections()["mine"].tensor_names == {"a1"}
    run.step(TRAIN, 10, a3=1.0)
    trial.refresh()
    assert trial.tensor_names(collection="mine") == ["a1", "a3"]


def test_a_collection_of_the_caller_selects_names(trial):
    assert trial.tensor_names(collection=collection("any", "^in", "^w")) == ["in_10", "in_2", "w"]


def test_what_is_no_collection_is_a_type_error(trial):
    with pytest.raises(SMDebugTypeError, match="Collection"):
        trial.tensor_names(collection=3)


def test_collections_have_the_saved_names_that_their_patterns_match(run, trial):
    assert set(trial.collections()) == {"losses", "inputs"}
    assert trial.collections()["losses"].tensor_names == {"loss", "val_loss"}
    assert trial.collection("inputs").tensor_names == {"in_2", "in_10"}
    run.step(TRAIN, 20, third_loss=1.0)
    trial.refresh()
    assert trial.collections()["losses"].tensor_names == {"loss", "val_loss", "third_loss"}


def test_has_tensor_answers_and_tensor_raises(trial):
    assert trial.has_tensor("w")
    assert not trial.has_tensor("v")
    with pytest.raises(TensorUnavailable) as raised:
        trial.tensor("v")
    assert raised.value.tname == "v"


def test_a_name_that_is_no_text_is_a_type_error(trial):
    with pytest.raises(SMDebugTypeError, match="tname"):
        trial.tensor(3)


def test_inputs_are_in_the_order_of_their_numbers(trial):
    assert [value.tolist() for value in trial.inputs(4)] == [[2.0], [10.0]]
    assert [value.tolist() for value in trial.labels(0, EVAL)] == [[1]]
    assert trial.predictions(4) == []


# ---- Workers


def test_two_workers_are_told_apart():
    trial = create_trial(GOLDEN / "small")
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.num_workers == 2
    assert trial.tensor("loss").value(1, worker="worker_1").item() == 0.125


# ---- Tables and notes


def test_reductions_are_columns(trial):
    run = create_trial(GOLDEN / "full")
    table = run.reductions(collection="gradients", steps=(0, 2))
    assert table["step"].tolist() == [0, 1]
    assert table["tensor"].tolist() == ["gradient/fc.weight"] * 2
    assert table["mode"].tolist() == ["TRAIN", "TRAIN"]
    assert table["worker"].tolist() == ["worker_0", "worker_0"]
    assert table["elements"].tolist() == [5, 5]
    assert table["zero"].tolist() == [3, 2]
    assert table["abs_mean"].tolist() == pytest.approx([0.6, 0.7])
    assert all(isinstance(column, numpy.ndarray) for column in table.values())
    assert "prod" not in table


def test_a_reduction_that_was_not_saved_is_told_from_a_nan():
    table = create_trial(GOLDEN / "full").reductions(steps=(0, 1), name=["fc", "loss"])
    assert table["tensor"].tolist() == ["fc.weight", "gradient/fc.weight", "loss"]
    assert table.was_saved("abs_mean").tolist() == [False, True, False]
    assert table.was_saved("counts").tolist() == [True, True, True]


def test_an_empty_table_has_columns_without_rows(trial):
    table = trial.reductions(name="nothing")
    assert table.rows == 0
    assert table["step"].tolist() == table["tensor"].tolist() == []


def test_a_table_of_an_unknown_worker_is_refused(trial):
    with pytest.raises(InvalidWorker):
        trial.reductions(worker="worker_9")


def test_a_table_becomes_a_data_frame_of_its_columns(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    table = create_trial(GOLDEN / "full").reductions(collection="gradients")
    frame = table.to_pandas()
    assert list(frame) == list(table)
    assert frame["abs_mean"][1] == pytest.approx(0.7)


@pytest.mark.requires("pandas")
def test_a_table_becomes_a_data_frame():
    frame = create_trial(GOLDEN / "full").reductions(collection="gradients").to_pandas()
    assert frame[frame.step == 1].abs_mean.item() == pytest.approx(0.7)


def test_a_run_without_notes_has_none(trial):
    assert trial.notes() == []


# ---- Waiting


def test_waiting_for_available_steps_returns(trial):
    trial.wait_for_steps([0, 10], TRAIN)


def test_waiting_for_a_passed_step_is_refused(trial):
    with pytest.raises(StepUnavailable):
        trial.wait_for_steps([5], TRAIN)


def test_waiting_ends_at_the_timeout(trial):
    with pytest.raises(StepNotYetAvailable):
        trial.wait_for_steps([30], TRAIN, timeout=0.01)


def test_waiting_behind_the_end_is_no_more_data(run, trial):
    run.end()
    with pytest.raises(NoMoreData):
        trial.wait_for_steps([30], TRAIN)


def test_waiting_sees_a_step_that_comes(run, trial):
    thread = threading.Thread(target=run.step, args=(TRAIN, 30), kwargs={"w": 1.0})
    with no_refresh(trial):  # Waiting works on a pinned trial.
        threading.Timer(0.05, thread.start).start()
        trial.wait_for_steps([30], TRAIN, timeout=60)
    thread.join()
    assert trial.steps(TRAIN) == [0, 10, 30]


@pytest.mark.parametrize("steps", [5, ["a"], [1.5], None])
def test_steps_of_other_types_are_a_type_error(trial, steps):
    with pytest.raises(SMDebugTypeError):
        trial.wait_for_steps(steps)


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_an_impossible_timeout_is_a_value_error(trial, timeout):
    with pytest.raises(SMDebugValueError, match="seconds"):
        trial.wait_for_steps([0], timeout=timeout)


def interrupted_after(wait):
    """The seconds between an interrupt and the KeyboardInterrupt that `wait` raises."""
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        _thread.interrupt_main()

    threading.Timer(0.2, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        wait()
    return time.monotonic() - sent[0]


def test_an_interrupt_ends_the_waiting_for_steps(trial):
    # 100 ms where the machine is idle.
    assert interrupted_after(lambda: trial.wait_for_steps([30], TRAIN, timeout=60)) < 5


def test_an_interrupt_ends_the_waiting_for_a_run(tmp_path):
    assert interrupted_after(lambda: create_trial(tmp_path, wait_for_run=60)) < 5


def test_log_lines_come_while_a_trial_waits(run, trial):
    class Commit(logging.Handler):
        def emit(self, record):
            run.step(TRAIN, 30, w=1.0)

    handler = Commit()
    get_logger().addHandler(handler)
    try:
        threading.Timer(0.1, _native.log, (2, "a line")).start()
        trial.wait_for_steps([30], TRAIN, timeout=30)
    finally:
        get_logger().removeHandler(handler)


def test_other_threads_run_while_one_waits(run, trial):
    waiting = threading.Thread(target=trial.wait_for_steps, args=([30], TRAIN))
    waiting.start()
    assert trial.steps(TRAIN) == [0, 10]
    run.step(TRAIN, 30, w=1.0)
    waiting.join()


# ---- Pins


def test_a_pinned_trial_does_not_see_new_steps(run, trial):
    with no_refresh(trial) as pinned:
        assert pinned is trial
        assert trial.dynamic_refresh is False
        run.step(TRAIN, 20, w=1.0)
        assert trial.steps(TRAIN) == [0, 10]
        with refresh([trial]) as unpinned:
            assert unpinned == [trial]
            assert trial.dynamic_refresh is True
            trial.refresh()
            assert trial.steps(TRAIN) == [0, 10, 20]
        assert trial.steps(TRAIN) == [0, 10]
    assert trial.steps(TRAIN) == [0, 10, 20]


def test_a_pin_ends_with_an_exception(trial):
    with pytest.raises(KeyError), no_refresh([trial, trial]):
        raise KeyError
    assert trial.dynamic_refresh is True


def test_dynamic_refresh_may_be_switched(run, trial):
    trial.dynamic_refresh = False
    run.step(TRAIN, 20, w=1.0)
    assert trial.steps(TRAIN) == [0, 10]
    trial.dynamic_refresh = True
    trial.refresh()
    assert trial.steps(TRAIN) == [0, 10, 20]


def test_dynamic_refresh_stays_off_within_a_pin(trial):
    with no_refresh(trial), pytest.raises(SMDebugRuntimeError, match="no_refresh"):
        trial.dynamic_refresh = True


@pytest.mark.parametrize("block", [no_refresh, refresh])
def test_dynamic_refresh_that_was_off_before_a_block_is_fixed_within(run, trial, block):
    trial.dynamic_refresh = False
    with block(trial), pytest.raises(SMDebugRuntimeError, match="fixed within no_refresh"):
        trial.dynamic_refresh = True
    trial.dynamic_refresh = False
    assert trial.dynamic_refresh is False
    trial.dynamic_refresh = True
    assert trial.dynamic_refresh is True
    run.step(TRAIN, 20, w=1.0)
    trial.refresh()
    assert trial.steps(TRAIN) == [0, 10, 20]


def test_what_is_no_trial_is_not_pinned(trial):
    with pytest.raises(SMDebugTypeError), no_refresh([trial, 3]):
        pass
    assert trial.dynamic_refresh is True


def test_pins_and_queries_of_several_threads_run_side_by_side(run, trial):
    stop = threading.Event()
    problems = []

    def query():
        while not stop.is_set():
            steps = trial.steps()
            if steps != list(range(0, 2 * len(steps), 2)):
                problems.append(steps)

    threads = [threading.Thread(target=query) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(200):
        with no_refresh(trial):  # The run grows, so that only the pin keeps what it shows.
            run.step(TRAIN, 20 + number, w=1.0)
            trial.refresh()
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []


# ---- Pickling


def test_a_trial_of_a_relative_path_is_opened_from_another_directory(run, monkeypatch):
    monkeypatch.chdir(run.directory.parent)
    pickled = pickle.dumps(create_trial("mnist"))
    monkeypatch.chdir("/")
    assert pickle.loads(pickled).steps() == [0, 2, 4]


def test_a_pickled_trial_is_opened_again(run):
    trial = LocalTrial("mine", run.directory, range_steps=(2, None))
    again = pickle.loads(pickle.dumps(trial))
    assert type(again) is LocalTrial
    assert (again.name, again.steps()) == ("mine", [2, 4])
