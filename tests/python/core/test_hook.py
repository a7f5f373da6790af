"""cupel.Hook: what a training loop without a framework saves by it."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pathlib
import pickle
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest

import cupel
from cupel import _native
from cupel.exceptions import (
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    StoreError,
)

EVERY_STEP = cupel.SaveConfig(save_interval=1)
FOUR = np.arange(4, dtype=np.float32)


def make_hook(run: pathlib.Path, **options: object) -> cupel.Hook:
    options.setdefault("save_config", EVERY_STEP)
    return cupel.Hook(run, **options)


def is_finished(run: pathlib.Path) -> bool:
    return cupel.create_trial(str(run)).loaded_all_steps


def test_a_loop_saves_what_its_collections_want(tmp_path):
    with make_hook(tmp_path / "run", include_collections=["weights"]) as hook:
        for step in range(3):
            hook.next_step()
            hook.save_tensor("fc.weight", FOUR + step)
            hook.save_tensor("fc.output", FOUR)
            hook.save_scalar("loss", step / 2)
    trial = cupel.create_trial(str(tmp_path / "run"))
    assert trial.tensor_names() == ["fc.weight", "loss"]
    assert trial.tensor("fc.weight").steps() == [0, 1, 2]
    np.testing.assert_array_equal(trial.tensor("fc.weight").value(2), FOUR + 2)
    assert trial.tensor("loss").value(1) == 0.5
    assert trial.loaded_all_steps


def test_every_field_of_the_options_is_a_keyword():
    values = dict(inspect.signature(cupel.Hook).parameters)
    assert values.pop("unknown").kind is inspect.Parameter.VAR_KEYWORD  # They are refused.
    assert set(values) == {
        "out_dir",
        "existing",
        "include_collections",
        "include_regex",
        "save_all",
        "save_config",
        "reduction_config",
        "profile",
        "include_workers",
        "worker",
        "num_workers",
        "dry_run",
        "commit",
        "commit_timeout",
        "sync",
        "on_error",
        "buffer_bytes",
        "when_full",
        "overhead_budget",
        "segment_bytes",
        "segment_age",
        "spool_dir",
        "spool_bytes",
        "upload_parallelism",
        "close_timeout",
        "s3_sync",
        "export_tensorboard",
        "tensorboard_dir",
        "collections",
    }
    keywords = [each for name, each in values.items() if name != "out_dir"]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in keywords)
    assert all(each.default is not inspect.Parameter.empty for each in keywords)


@pytest.mark.parametrize(
    "options",
    [
        dict(existing="continue"),
        dict(include_collections="weights", include_regex=["a", "b"]),
        dict(save_config=cupel.SaveConfigMode(save_interval=3)),
        dict(save_config={cupel.modes.TRAIN: cupel.SaveConfigMode(save_interval=3)}),
        dict(reduction_config=cupel.ReductionConfig(["mean"])),
        dict(profile=_native.Profile.PYTORCH, include_workers="all", worker="w", num_workers=2),
        dict(dry_run=True),
        dict(commit="background", commit_timeout=0.5, sync="off", on_error="throw"),
        dict(buffer_bytes=1 << 20, when_full="drop_step", overhead_budget=0.5),
        dict(segment_bytes=1000, segment_age=0.5, spool_dir="/nowhere", spool_bytes=1 << 20),
        dict(upload_parallelism=2, close_timeout=1, s3_sync="off"),
        dict(collections=[cupel.Collection("mine", ["x"])], include_collections=["mine"]),
    ],
    ids=lambda options: ",".join(options),
)
def test_options_are_taken(tmp_path, options):
    hook = make_hook(tmp_path / "run", **options)
    hook.next_step()
    assert hook.close().problems == []


@pytest.mark.parametrize(
    "options, error",
    [
        (dict(save_config=5), SMDebugTypeError),
        (dict(reduction_config="mean"), SMDebugTypeError),
        (dict(include_collections=5), SMDebugTypeError),
        (dict(buffer_bytes="much"), SMDebugTypeError),
        (dict(buffer_bytes=5), SMDebugValueError),
        (dict(existing="maybe"), SMDebugValueError),
        (dict(include_regex=["("]), SMDebugValueError),
        (dict(overhead_budget=2.0), SMDebugValueError),
        (dict(commit_timeout=-1), SMDebugValueError),
        (dict(commit_timeout=float("nan")), SMDebugValueError),
        (dict(num_workers=0), SMDebugValueError),
        (dict(nonsense=1), SMDebugValueError),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else value.__name__,
)
def test_illegal_options_are_refused(tmp_path, options, error):
    with pytest.raises(error):
        make_hook(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("wait", [float("inf"), 1e300])
def test_a_wait_may_be_for_ever(tmp_path, wait):
    make_hook(tmp_path / "run", commit_timeout=wait, close_timeout=wait).close()


def test_an_unknown_option_is_refused_by_its_name(tmp_path):
    with pytest.raises(SMDebugValueError, match="no option exsting"):
        cupel.Hook(tmp_path / "run", exsting="replace")


def test_out_dir_is_where_the_run_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRAINING_JOB_NAME", "mnist")
    with cupel.Hook(" ~/{job}/x{time} ", save_all=True) as hook:
        hook.next_step()
        hook.save_tensor("x", FOUR)
    assert re.fullmatch(re.escape(str(tmp_path)) + r"/mnist/x\d{8}T\d{6}Z", hook.out_dir)
    assert cupel.create_trial(hook.out_dir).tensor_names() == ["x"]


def test_a_job_without_a_name_is_the_process(tmp_path, monkeypatch):
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
    with cupel.Hook(tmp_path / "{job}") as hook:
        assert hook.out_dir == str(tmp_path / str(os.getpid()))


def test_a_missing_out_dir_is_a_runtime_error():
    with pytest.raises(SMDebugRuntimeError, match="out_dir is not set"):
        cupel.Hook("")
    with pytest.raises(SMDebugRuntimeError, match="out_dir is not set"):
        cupel.Hook(None)


def test_a_finished_run_is_a_runtime_error(tmp_path):
    make_hook(tmp_path).close()
    with pytest.raises(SMDebugRuntimeError, match="already holds a finished run"):
        make_hook(tmp_path)
    with pytest.raises(SMDebugRuntimeError, match="already holds a finished run"):
        _native.check_hook({"out_dir": str(tmp_path)})


def test_a_check_refuses_what_the_hook_refuses_and_writes_nothing(tmp_path):
    run = tmp_path / "run"
    _native.check_hook({"out_dir": str(run)}, [cupel.Collection("mine")])
    with pytest.raises(SMDebugValueError, match="overhead_budget"):
        _native.check_hook({"out_dir": str(run), "overhead_budget": 2.0})
    with pytest.raises(SMDebugValueError, match="no option nonsense"):
        _native.check_hook({"out_dir": str(run), "nonsense": 1})
    assert not run.exists()


def test_a_directory_that_cannot_be_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as error:
        make_hook(tmp_path / "file" / "run")
    assert error.value.location.startswith(str(tmp_path))


def test_due_and_wants_follow_the_steps(tmp_path):
    hook = make_hook(tmp_path, include_regex=["^x$"], save_config=cupel.SaveConfig(save_interval=2))
    assert not hook.due and not hook.wants("x")
    seen = []
    for _ in range(3):
        hook.next_step()
        seen.append((hook.due, hook.wants("x"), hook.wants("y")))
    assert seen == [(True, True, False), (False, False, False), (True, True, False)]
    hook.close()
    assert not hook.due


def test_steps_have_numbers(tmp_path):
    hook = make_hook(tmp_path, save_all=True)
    hook.set_mode(cupel.modes.TRAIN)
    hook.next_step(10)
    hook.next_step(step=20)
    hook.save_tensor("x", FOUR)
    hook.end_step()
    assert (hook.step, hook.mode_step(cupel.modes.TRAIN)) == (20, 20)
    assert hook.committed_step == 20
    assert hook.mode is cupel.modes.TRAIN
    hook.close()
    assert cupel.create_trial(str(tmp_path)).steps(cupel.modes.TRAIN) == [20]


@pytest.mark.parametrize("mode", ["TRAIN", 1, object()])
def test_what_is_no_mode_is_a_value_error_that_names_the_modes(tmp_path, mode):
    hook = make_hook(tmp_path)
    with pytest.raises(SMDebugValueError, match="TRAIN, EVAL, PREDICT and GLOBAL"):
        hook.set_mode(mode)


class Unreadable:
    """Its text is no Unicode."""

    def __repr__(self):
        return "\udcff"


class Raising:
    """It has no text."""

    def __repr__(self):
        raise KeyError("no text")


@pytest.mark.parametrize("value", [Unreadable(), Raising()], ids=["unreadable", "raising"])
@pytest.mark.parametrize(
    "use",
    [
        lambda hook, value: make_hook("unused", buffer_bytes=value),
        lambda hook, value: hook.set_mode(value),
        lambda hook, value: hook.save_scalar("x", value),
        lambda hook, value: hook.save_tensor(value, 1.0),
        lambda hook, value: cupel.SaveConfig(save_interval=value),
    ],
    ids=["option", "mode", "scalar", "name", "interval"],
)
def test_an_object_without_a_readable_text_is_named_in_the_error(tmp_path, use, value):
    hook = make_hook(tmp_path / "run")
    hook.next_step()
    with pytest.raises((SMDebugTypeError, SMDebugValueError), match=r"\\udcff|cannot be read"):
        use(hook, value)


@pytest.mark.parametrize(
    "use",
    [
        lambda hook: hook.save_tensor(3, 1.0),
        lambda hook: hook.next_step("a"),
        lambda hook: hook.next_step(2**63),
        lambda hook: hook.get_collection(3),
        lambda hook: cupel.Collection(3),
        lambda hook: cupel.Collection("c").has_tensor_name(3),
        lambda hook: cupel.SaveConfig().should_save_step("TRAIN", 1),
        lambda hook: cupel.SaveConfig().should_save_step(cupel.modes.TRAIN, "1"),
        lambda hook: cupel.SaveConfigMode().should_save_step(None),
    ],
    ids=range(9),
)
def test_an_argument_of_the_wrong_type_is_a_type_error_of_cupel(tmp_path, use):
    hook = make_hook(tmp_path)
    with pytest.raises(SMDebugTypeError, match="(is a text|64 bits|ModeKeys), not "):
        use(hook)


def test_collections_are_configured_before_the_first_step(tmp_path):
    hook = make_hook(tmp_path, include_collections=["mine"])
    mine = hook.get_collection("mine")
    mine.include("^a")
    mine.reduction_config = cupel.ReductionConfig(["max"])
    assert hook.get_collection("mine").include_regex == ["^a"]
    hook.next_step()
    hook.save_tensor("a", FOUR)
    hook.save_tensor("b", FOUR)
    hook.close()
    trial = cupel.create_trial(str(tmp_path))
    assert trial.tensor_names() == ["a"]
    assert trial.tensor("a").reduction_value(0, "max") == 3


def test_a_collection_keeps_its_hook(tmp_path):
    collection = make_hook(tmp_path).get_collection("mine")
    gc.collect()
    collection.include("a")
    assert collection.include_regex == ["a"]


@pytest.mark.parametrize("collections", ["mine", ["mine"], ("mine", "losses")])
def test_a_tensor_joins_the_collections_of_the_call(tmp_path, collections):
    hook = make_hook(tmp_path, include_collections=["mine"])
    hook.next_step()
    hook.save_tensor("x", FOUR, collections)
    hook.close()
    assert "x" in cupel.create_trial(str(tmp_path)).tensor_names(collection="mine")


@pytest.mark.parametrize("collections", [5, [5]])
def test_collections_of_a_call_are_names(tmp_path, collections):
    hook = make_hook(tmp_path)
    with pytest.raises(TypeError):
        hook.save_tensor("x", FOUR, collections)


def test_handles_save_as_names_do(tmp_path):
    hook = make_hook(tmp_path, include_collections=["mine"])
    handle = hook.handle("x", ("mine",))
    hook.next_step()
    assert hook.wants(handle)
    hook.save(handle, FOUR)
    hook.save(hook.next_output("net", ("mine",)), FOUR)
    hook.save(hook.next_output("net", ("mine",)), FOUR)
    hook.save(hook.next_input("net", "mine"), FOUR)
    hook.leave_out(hook.handle("y", "mine"), "it has no values")
    report = hook.close()
    assert report.problems == ["cannot save y: it has no values"]
    names = ["net_input_0", "net_output_0", "net_output_1", "x"]
    assert cupel.create_trial(str(tmp_path)).tensor_names() == names


def test_a_handle_keeps_its_hook(tmp_path):
    hook = make_hook(tmp_path / "one")
    hook.next_step()
    handle = hook.handle("x")
    del hook
    gc.collect()
    assert not is_finished(tmp_path / "one")
    other = make_hook(tmp_path / "two", save_all=True)
    other.next_step()
    with pytest.raises(SMDebugValueError, match="of another hook"):
        other.save(handle, FOUR)
    del handle
    assert is_finished(tmp_path / "one")


def test_a_hook_that_holds_its_own_handle_is_collected(tmp_path):
    hook = make_hook(tmp_path)
    hook.own = hook.handle("x")
    seen = weakref.ref(hook)
    del hook
    gc.collect()
    assert seen() is None and is_finished(tmp_path)


@pytest.mark.parametrize("name", ["", "a\ud800", "x" * 5000], ids=["empty", "surrogate", "long"])
def test_a_name_that_cannot_be_is_reported_once(tmp_path, name):
    hook = make_hook(tmp_path, save_all=True)
    for _ in range(3):
        hook.next_step()
        hook.save_tensor(name, FOUR)
        hook.save_tensor("kept", FOUR)
    report = hook.close()
    assert len(report.problems) == 1 and not report.disabled
    assert report.rows == 3


@pytest.mark.parametrize("name", [5, None, b"x"])
def test_a_name_is_a_text(tmp_path, name):
    with pytest.raises(SMDebugTypeError, match="the name of a tensor is a text"):
        make_hook(tmp_path).save_tensor(name, FOUR)


def test_many_names_are_more_than_the_hook_remembers(tmp_path):
    hook = make_hook(tmp_path, include_regex=["^t"])
    hook.next_step()
    for number in range(10_000):
        hook.save_tensor(f"t{number % 5000}", FOUR)
    assert hook.close().rows == 5000


def test_a_save_outside_of_steps_is_reported(tmp_path):
    hook = make_hook(tmp_path, save_all=True)
    hook.save_tensor("x", FOUR)  # a line in the log
    hook.next_step()
    hook.save_tensor("x", FOUR)
    hook.end_step()
    hook.save_tensor("x", FOUR)
    report = hook.close()
    assert report.rows == 1 and len(report.problems) == 1
    assert "x" in report.problems[0]


def test_scalars_are_saved_at_every_call_under_their_names(tmp_path):
    hook = make_hook(tmp_path, save_config=cupel.SaveConfig(end_step=0))
    for step in range(2):
        hook.next_step()
        hook.save_scalar("lr", step)
        hook.save_scalar("accuracy", np.float32(0.5), ["metrics"])
    hook.close()
    trial = cupel.create_trial(str(tmp_path))
    assert trial.tensor("lr").steps() == [0, 1]
    assert trial.tensor_names(collection="metrics") == ["accuracy"]


@pytest.mark.parametrize("value", [2, 2.0, np.int8(2), np.array(2.0), np.array([[2.0]])], ids=repr)
def test_a_scalar_is_one_number_in_any_form(tmp_path, value):
    hook = make_hook(tmp_path)
    hook.next_step()
    hook.save_scalar("x", value)
    hook.close()
    assert cupel.create_trial(str(tmp_path)).tensor("x").value(0) == 2


@pytest.mark.parametrize("value", ["2", None, [1.0], np.ones(2), np.array(["a"])], ids=repr)
def test_a_scalar_of_anything_else_is_a_type_error(tmp_path, value):
    with pytest.raises(SMDebugTypeError, match="the scalar x is not one number"):
        make_hook(tmp_path).save_scalar("x", value)


def test_errors_are_raised_where_the_hook_raises(tmp_path):
    hook = make_hook(tmp_path, save_all=True, on_error="throw")
    hook.next_step(5)
    with pytest.raises(SMDebugValueError, match=r"next_step\(5\)"):
        hook.next_step(5)
    hook.close()


def test_after_close_every_call_is_silent(tmp_path):
    hook = make_hook(tmp_path, save_all=True)
    hook.next_step()
    report = hook.close()
    hook.next_step()
    hook.save_tensor("x", FOUR)
    hook.save_scalar("y", 1)
    hook.save(hook.handle("x"), FOUR)
    hook.end_step()
    hook.set_mode(cupel.modes.EVAL)
    assert not hook.due and not hook.wants("x") and not hook.stop_requested
    again = hook.close()
    assert again.rows == report.rows == 0 and again.problems == []


def test_a_hook_that_nobody_holds_is_closed(tmp_path):
    hook = make_hook(tmp_path)
    hook.next_step()
    assert not is_finished(tmp_path)
    del hook
    assert is_finished(tmp_path)


def test_an_exception_in_the_loop_closes_the_hook_and_passes(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with make_hook(tmp_path) as hook:
            hook.next_step()
            raise ZeroDivisionError
    assert is_finished(tmp_path)


class Model:
    """What a user might pickle: it holds a hook."""

    def __init__(self, hook: cupel.Hook) -> None:
        self.hook = hook


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "pickle"],
)
def test_a_copy_of_a_hook_does_nothing(tmp_path, copied):
    hook = make_hook(tmp_path, save_all=True)
    hook.next_step()
    dead = copied(Model(hook)).hook
    dead.next_step()
    dead.save_tensor("copied", FOUR)
    assert not dead.due and dead.out_dir == str(tmp_path)
    dead.close()
    hook.save_tensor("x", FOUR)
    hook.close()
    assert cupel.create_trial(str(tmp_path)).tensor_names() == ["x"]


def test_a_hook_is_shown_with_its_run_and_step(tmp_path):
    hook = make_hook(tmp_path)
    hook.next_step()
    assert repr(hook) == f"<cupel.Hook {str(tmp_path)!r}, step 0>"


def test_the_report_has_what_was_done(tmp_path):
    hook = make_hook(tmp_path, save_all=True)
    for _ in range(2):
        hook.next_step()
        hook.save_tensor("x", FOUR)
    report = hook.close()
    assert (report.steps_begun, report.steps_committed, report.last_committed_step) == (2, 2, 1)
    assert (report.rows, report.value_bytes, report.disabled) == (2, 32, False)


def test_importing_cupel_imports_numpy_only():
    code = (
        "import sys, cupel; "
        "print([m for m in sys.modules if m.split('.')[0] in ('torch', 'xgboost', 'pandas')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
