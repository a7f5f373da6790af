"""What the hooks of all frameworks share, without a framework."""

import copy
import gc
import json
import logging
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from cupel import _native
from cupel.core import base_hook, hook_registry
from cupel.core.base_hook import BaseHook
from cupel.core.modes import ModeKeys
from cupel.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)

EVERY_STEP = {"save_config": _native.SaveConfig(save_interval=1)}


def take_steps(hook, count):
    for _ in range(count):
        hook.next_step()


# ---- The constructor


def test_a_hook_without_out_dir_is_refused():
    with pytest.raises(SMDebugRuntimeError):
        BaseHook()


def test_a_finished_run_is_refused_by_the_constructor(run_dir):
    with BaseHook(run_dir) as hook:
        hook.next_step()
    with pytest.raises(SMDebugRuntimeError):
        BaseHook(run_dir)


def test_a_finished_run_is_replaced_on_demand(run_dir):
    for existing in ("refuse", "replace"):
        with BaseHook(run_dir, existing=existing) as hook:
            hook.next_step()
    assert hook.report.steps_begun == 1


@pytest.mark.parametrize(
    "options",
    [
        {"include_regex": ["("]},
        {"include_workers": "some"},
        {"existing": "perhaps"},
        {"commit": "never"},
        {"on_error": "ignore"},
        {"buffer_bytes": 5},
        {"no_such_option": 1},
    ],
    ids=lambda options: next(iter(options)),
)
def test_an_illegal_option_is_refused_by_the_constructor(run_dir, options):
    with pytest.raises(SMDebugValueError):
        BaseHook(run_dir, **options)
    assert not os.path.exists(run_dir)


@pytest.mark.parametrize(
    "options",
    [
        {"save_config": "often"},
        {"include_collections": 3},
        {"include_regex": ["x", 3]},
        {"out_dir": 3},
        {"profile": _native.Profile.XGBOOST},
    ],
    ids=lambda options: next(iter(options)),
)
def test_an_option_of_a_wrong_type_is_refused_by_the_constructor(run_dir, options):
    with pytest.raises(SMDebugTypeError):
        BaseHook(**{"out_dir": run_dir, **options})


def test_the_constructor_writes_nothing(run_dir):
    BaseHook(run_dir)
    assert not os.path.exists(run_dir)


def test_arguments_have_the_order_of_the_sdk(run_dir):
    hook = BaseHook(run_dir, True, None, True, None, None, ["x"], ["weights"], True, "all")
    assert hook.tensorboard_dir == os.path.join(run_dir, "tensorboard")
    assert set(hook.include_collections) == {"weights", "losses", "default", "all"}


def test_a_home_in_out_dir_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert BaseHook("~/run").out_dir == str(tmp_path / "run")


def test_out_dir_is_where_the_run_is(tmp_path, monkeypatch, read_back):
    monkeypatch.setenv("TRAINING_JOB_NAME", "night")
    with BaseHook(f" {tmp_path}/{{job}}-{{time}} ") as hook:
        hook.next_step()
        hook.save_scalar("a", 1)
    assert hook.out_dir.startswith(f"{tmp_path}/night-2")
    assert "{" not in hook.out_dir
    assert list(read_back(hook.out_dir)) == [0]


def test_a_save_config_for_one_mode_is_taken_as_a_dictionary(run_dir, read_back):
    every = {ModeKeys.TRAIN: _native.SaveConfigMode(save_interval=2)}
    with BaseHook(run_dir, save_all=True, save_config=every) as hook:
        hook.set_mode(ModeKeys.TRAIN)
        for _ in range(4):
            hook.next_step()
            hook.save_tensor("a", np.ones(2))
    assert list(read_back(run_dir)) == [0, 2]


def test_the_default_interval_is_that_of_the_profile(run_dir):
    class BoostingHook(BaseHook):
        _profile = _native.Profile.XGBOOST

    assert BaseHook(run_dir).save_config.get_save_config(ModeKeys.TRAIN).save_interval == 500
    assert BoostingHook(run_dir).save_config.get_save_config(ModeKeys.TRAIN).save_interval == 10


# ---- Steps


def test_nothing_has_begun_before_the_first_step(run_dir):
    hook = BaseHook(run_dir)
    assert (hook.step, hook.mode, hook.mode_steps) == (-1, ModeKeys.GLOBAL, {})


def test_steps_are_counted_for_each_mode(run_dir):
    hook = BaseHook(run_dir)
    hook.set_mode(ModeKeys.TRAIN)
    take_steps(hook, 2)
    hook.set_mode(ModeKeys.EVAL)
    take_steps(hook, 1)
    assert hook.mode == ModeKeys.EVAL
    assert hook.step == 2
    assert hook.mode_steps == {ModeKeys.TRAIN: 1, ModeKeys.EVAL: 0, ModeKeys.GLOBAL: 2}


def test_a_step_may_have_a_number(run_dir):
    hook = BaseHook(run_dir)
    hook.next_step(7)
    assert hook.step == 7


def test_a_mode_that_is_none_is_refused_with_the_known_ones(run_dir):
    with pytest.raises(SMDebugValueError, match="TRAIN, EVAL, PREDICT, GLOBAL"):
        BaseHook(run_dir).set_mode("train")


def test_a_step_is_committed_when_it_is_ended(run_dir, read_back):
    hook = BaseHook(run_dir)
    hook.next_step()
    hook.save_scalar("a", 1)
    hook.end_step()
    assert list(read_back(run_dir)) == [0]


def test_a_stop_is_requested_by_nobody_at_first(run_dir):
    hook = BaseHook(run_dir)
    assert hook.stop_requested is False
    hook.next_step()
    assert hook.stop_requested is False


# ---- Values


def test_a_scalar_has_its_name_and_one_element(run_dir, read_back):
    with BaseHook(run_dir) as hook:
        hook.next_step()
        hook.save_scalar("accuracy", 0.5)
    value = read_back(run_dir)[0]["scalar/accuracy"]
    assert (value.dtype, value.shape, value.item()) == (np.float64, (1,), 0.5)


def test_a_scalar_is_saved_at_steps_that_are_not_due(run_dir, read_back):
    with BaseHook(run_dir) as hook:
        for step in range(3):
            hook.next_step()
            hook.save_scalar("a", step)
    assert [values["scalar/a"].item() for values in read_back(run_dir).values()] == [0, 1, 2]


@pytest.mark.parametrize("value", [True, 3, np.float32(3), np.array([3.0]), np.array(3)])
def test_a_scalar_may_be_any_number_of_one_element(run_dir, read_back, value):
    with BaseHook(run_dir) as hook:
        hook.next_step()
        hook.save_scalar("a", value)
    assert read_back(run_dir)[0]["scalar/a"].item() == float(value if value is True else 3)


@pytest.mark.parametrize("value", [np.ones(2), [1.0], "1.5", None, object(), 10**400], ids=type)
def test_a_scalar_that_is_not_one_number_is_refused(run_dir, value):
    with pytest.raises(SMDebugTypeError, match="accuracy"):
        BaseHook(run_dir).save_scalar("accuracy", value)


def test_a_name_that_is_no_text_is_refused(run_dir):
    hook = BaseHook(run_dir)
    for save in (hook.save_scalar, hook.save_tensor):
        with pytest.raises(SMDebugTypeError, match="name is a str, not 5|scalar is a str, not 5"):
            save(5, 1)
    hook.next_step()
    with pytest.raises(SMDebugTypeError, match="tensor_name is a str, not 5"):
        hook.record_tensor_value(5, np.ones(1))


@pytest.mark.parametrize("step", ["a", 1.5, True])
def test_a_step_that_is_no_whole_number_is_refused(run_dir, step):
    with pytest.raises(SMDebugTypeError, match="step is a whole number"):
        BaseHook(run_dir).next_step(step)


def test_a_scalar_whose_name_ends_in_loss_is_a_loss(run_dir):
    hook = BaseHook(run_dir)
    hook.next_step()
    hook.save_scalar("my_loss", 1)
    hook.save_scalar("lossy", 1)
    assert hook.get_collection("losses").tensor_names == {"scalar/my_loss"}


def test_values_before_the_first_step_belong_to_step_0(run_dir, read_back):
    with BaseHook(run_dir) as hook:
        hook.save_scalar("a", 1)
        values = np.arange(3)
        hook.save_tensor("b", values)
        values += 10
        take_steps(hook, 2)
    saved = read_back(run_dir)
    assert list(saved) == [0]
    assert saved[0]["scalar/a"].item() == 1
    assert saved[0]["b"].tolist() == [0, 1, 2]


def test_the_last_value_of_a_name_waits_for_the_first_step(run_dir, read_back):
    hook = BaseHook(run_dir)
    for k in range(100):
        hook.save_scalar("a", k)
        hook.save_tensor("b", np.array([k]), f"collection_{k % 2}")
    assert len(hook._waiting) == 2
    hook.next_step()
    assert hook.get_collection("collection_0").tensor_names == {"b"}
    assert hook.get_collection("collection_1").tensor_names == {"b"}
    assert hook.close().problems == []
    assert {name: v.item() for name, v in read_back(run_dir)[0].items()} == {
        "scalar/a": 99,
        "b": 99,
    }


def test_values_that_wait_have_an_end_that_is_reported(run_dir, monkeypatch, caplog):
    monkeypatch.setattr(base_hook, "_MOST_EARLY_SAVES", 3)
    hook = BaseHook(run_dir)
    for k in range(6):
        hook.save_scalar(f"a{k}", k)
    assert len(hook._waiting) == 3
    assert [r.message for r in caplog.records if "no step has begun" in r.message] == [
        "no step has begun after 3 saved values; further values are dropped until the first step "
        "begins"
    ]
    hook.next_step()
    hook.save_scalar("later", 1)
    assert hook.close().problems == [
        "3 values were dropped, saved before the first step after 3 others"
    ]


def test_the_first_step_of_several_threads_makes_one_hook(run_dir, monkeypatch):
    """The second thread asks while the constructor of the first one runs."""
    make, is_making, made = _native.Hook, threading.Event(), []

    def slow(*arguments):
        is_making.set()
        other.join(0.2)  # The other thread waits for the lock, or makes a hook of its own.
        made.append(make(*arguments))
        return made[-1]

    monkeypatch.setattr(_native, "Hook", slow)
    hook = BaseHook(run_dir)
    errors = []

    def open_too():
        is_making.wait()
        try:
            hook._open()
        except Exception as error:
            errors.append(error)

    other = threading.Thread(target=open_too)
    other.start()
    assert hook._open()
    other.join()
    assert (len(made), errors) == (1, [])
    hook.next_step()
    assert hook.close().steps_begun == 1


def test_values_of_a_hook_without_steps_are_saved_when_it_is_closed(run_dir, read_back):
    with BaseHook(run_dir) as hook:
        hook.save_scalar("a", 1)
    assert read_back(run_dir)[0]["scalar/a"].item() == 1


def test_a_hook_without_steps_and_values_writes_nothing(run_dir):
    with BaseHook(run_dir) as hook:
        pass
    assert hook.report is None
    assert not os.path.exists(run_dir)


def test_a_saved_tensor_needs_a_step_at_which_anything_is_due(run_dir, read_back):
    save_config = _native.SaveConfig(save_interval=2)
    with BaseHook(run_dir, save_config=save_config) as hook:
        for step in range(4):
            hook.next_step()
            hook.save_tensor("a", np.array([step]))
    assert {step: values["a"].item() for step, values in read_back(run_dir).items()} == {0: 0, 2: 2}


def test_the_collections_of_a_saved_tensor_are_created_at_any_time(run_dir):
    hook = BaseHook(run_dir, **EVERY_STEP)
    take_steps(hook, 2)
    hook.save_tensor("a", np.ones(2), ["new", "newer"])
    assert hook.get_collection("new").tensor_names == {"a"}
    assert hook.get_collection("newer").tensor_names == {"a"}


def test_a_recorded_tensor_is_numbered_in_its_step(run_dir, read_back):
    with BaseHook(run_dir, save_all=True, **EVERY_STEP) as hook:
        for _ in range(2):
            hook.next_step()
            hook.record_tensor_value("a", np.ones(2))
            hook.record_tensor_value("a", np.zeros(2))
    saved = read_back(run_dir)
    assert {step: sorted(values) for step, values in saved.items()} == {
        0: ["a_output_0", "a_output_1"],
        1: ["a_output_0", "a_output_1"],
    }


@pytest.mark.parametrize("name", ["my_loss", "MyLoss"])
def test_a_recorded_loss_is_saved_by_default(run_dir, read_back, name):
    with BaseHook(run_dir) as hook:
        hook.next_step()
        hook.record_tensor_value(name, np.array([2.0]))
        hook.record_tensor_value("other", np.array([2.0]))
    assert list(read_back(run_dir)[0]) == [f"{name}_output_0"]


def test_a_value_that_cannot_be_saved_is_reported_once_for_each_name(run_dir):
    hook = BaseHook(run_dir, save_all=True, **EVERY_STEP)
    for _ in range(2):
        hook.next_step()
        hook.save_tensor("date", np.array(["2026-01-01"], dtype="datetime64[D]"))
        hook.record_tensor_value("date", np.array(["2026-01-01"], dtype="datetime64[D]"))
    always, recorded = hook.close().problems
    assert "date" in always
    assert "date_output_0" in recorded


def test_a_value_that_cannot_be_saved_is_raised_on_demand(run_dir):
    hook = BaseHook(run_dir, save_all=True, on_error="throw")
    hook.next_step()
    with pytest.raises((TypeError, ValueError)):
        hook.save_tensor("date", np.array(["2026-01-01"], dtype="datetime64[D]"))


def test_a_scalar_for_the_metric_log_is_written_to_it(run_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
    with BaseHook(run_dir) as hook:
        hook.next_step()
        hook.save_scalar("a", 1, sm_metric=True, timestamp=5)
        hook.save_scalar("b", 1)
    (file,) = (tmp_path / "metrics").iterdir()
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["MetricName"] == "scalar/a_GLOBAL"


# ---- Collections


def test_a_collection_is_configured_before_the_first_step(run_dir, read_back):
    hook = BaseHook(run_dir, include_collections=["mine"], **EVERY_STEP)
    hook.get_collection("mine").include(["relu"])
    hook.next_step()
    hook.record_tensor_value("relu", np.ones(1))
    hook.record_tensor_value("tanh", np.ones(1))
    hook.close()
    assert list(read_back(run_dir)[0]) == ["relu_output_0"]


def test_a_collection_that_selects_nothing_ends_the_first_step(run_dir):
    hook = BaseHook(run_dir)
    hook.get_collection("mine")
    with pytest.raises(InvalidCollectionConfiguration, match="mine") as caught:
        hook.next_step()
    assert caught.value.c_name == "mine"
    assert not os.path.exists(run_dir)


def test_a_collection_that_a_save_has_filled_selects_something(run_dir):
    hook = BaseHook(run_dir)
    hook.get_collection("mine")
    hook.save_tensor("a", np.ones(1), "mine")
    hook.next_step()
    assert hook.step == 0


def test_an_added_collection_replaces_the_one_of_its_name(run_dir):
    hook = BaseHook(run_dir)
    mine = _native.Collection("mine")
    hook.get_collection("mine")
    hook.add_collection(mine)
    assert hook.get_collection("mine") is mine


def test_patterns_of_the_hook_are_those_of_the_collection_default(run_dir, read_back):
    with BaseHook(run_dir, include_regex=["^a"], **EVERY_STEP) as hook:
        assert hook.get_collection("default").include_regex == ["^a"]
        hook.next_step()
        hook.record_tensor_value("a", np.ones(1))
        hook.record_tensor_value("b", np.ones(1))
    assert list(read_back(run_dir)[0]) == ["a_output_0"]


def test_what_is_no_collection_is_not_added(run_dir):
    with pytest.raises(SMDebugTypeError, match="str"):
        BaseHook(run_dir).add_collection("mine")


def test_a_change_after_the_first_step_is_one_warning(run_dir, caplog):
    hook = BaseHook(run_dir)
    hook.next_step()
    with caplog.at_level(logging.WARNING, "cupel"):
        hook.get_collection("weights").include(["x"])
        hook.get_collection("biases").include(["y"])
        hook.get_collections()
        hook.close()
    assert [r.message for r in caplog.records if "after the first step" in r.message] == [
        "the collection weights was changed after the first step began, without effect"
    ]


def test_a_name_that_is_added_after_the_first_step_is_a_warning(run_dir, caplog):
    hook = BaseHook(run_dir, **EVERY_STEP)
    hook.next_step()
    hook.save_tensor("a", np.ones(1), "weights")
    weights = hook.get_collection("weights")
    assert caplog.text == ""
    weights.add_tensor_name("b")
    assert hook.get_collection("weights").tensor_names == {"a"}
    assert "the collection weights was changed after the first step began" in caplog.text


def test_saving_and_asking_for_collections_is_no_change(run_dir, caplog):
    with caplog.at_level(logging.WARNING, "cupel"):
        with BaseHook(run_dir, **EVERY_STEP) as hook:
            hook.next_step()
            hook.save_tensor("a", np.ones(1), "new")
            hook.get_collection("new")
            hook.get_collections()
    assert "after the first step" not in caplog.text


def test_a_tensor_or_its_collection_is_due_as_configured(run_dir):
    every_other = _native.SaveConfig(save_interval=2)
    hook = BaseHook(run_dir, include_collections=["weights"], save_config=every_other)
    assert not hook.should_save_tensor_or_collection("fc.weight", "weights")
    answers = []
    for _ in range(3):
        hook.next_step()
        answers.append(
            (
                hook.should_save_tensor_or_collection("fc.weight", "weights"),
                hook.should_save_tensor_or_collection("fc.bias", "biases"),
            )
        )
    assert answers == [(True, False), (False, False), (True, False)]


# ---- Configuration files


def write(path, content):
    path.write_text(json.dumps(content))
    return str(path)


def test_a_hook_is_made_of_a_configuration_file(tmp_path, run_dir):
    file = write(
        tmp_path / "hook.json",
        {
            "LocalPath": run_dir,
            "HookParameters": {"save_interval": "3", "save_all": True},
            "CollectionConfigurations": [
                {"CollectionName": "mine", "CollectionParameters": {"include_regex": "relu"}},
                {"CollectionName": "by_calls"},
            ],
        },
    )
    hook = BaseHook.create_from_json_file(file)
    assert hook.out_dir == run_dir
    assert hook.save_config.get_save_config(ModeKeys.EVAL).save_interval == 3
    assert hook.get_collection("mine").include_regex == ["relu"]
    assert {"all", "mine", "by_calls"} <= set(hook.include_collections)
    hook.next_step()
    assert hook.step == 0


def test_the_environment_names_the_configuration_file(tmp_path, run_dir, monkeypatch):
    file = write(tmp_path / "hook.json", {"LocalPath": run_dir})
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", file)
    assert BaseHook.create_from_json_file().out_dir == run_dir


def test_a_missing_configuration_file_is_named(tmp_path):
    with pytest.raises(SMDebugValueError, match="nothing.json"):
        BaseHook.create_from_json_file(str(tmp_path / "nothing.json"))


def test_only_a_hook_without_choices_has_the_default_configuration(run_dir):
    assert BaseHook(run_dir).has_default_hook_configuration()
    assert not BaseHook(run_dir, save_all=True).has_default_hook_configuration()
    assert not BaseHook(run_dir, include_regex="x").has_default_hook_configuration()
    assert not BaseHook(run_dir, **EVERY_STEP).has_default_hook_configuration()
    assert not BaseHook(run_dir, include_collections="weights").has_default_hook_configuration()


# ---- Workers


def test_the_worker_is_that_of_the_launcher(run_dir, monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    hook = BaseHook(run_dir)
    assert (hook.worker, hook._get_worker_name(), hook._get_num_workers()) == (
        "worker_2",
        "worker_2",
        4,
    )


def test_the_worker_is_that_of_the_moment_when_the_first_step_begins(run_dir, monkeypatch):
    hook = BaseHook(run_dir, include_workers="all")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    hook.next_step()
    monkeypatch.delenv("RANK")
    assert (hook.worker, hook._get_num_workers()) == ("worker_1", 2)


def test_a_subclass_gives_the_worker(run_dir):
    class RankedHook(BaseHook):
        def _first_step_options(self):
            return {"worker": "worker_3", "num_workers": 5}

    hook = RankedHook(run_dir)
    hook.next_step()
    assert (hook.worker, hook._get_num_workers()) == ("worker_3", 5)


# ---- The end


def test_a_closed_hook_is_silent(run_dir):
    hook = BaseHook(run_dir, **EVERY_STEP)
    hook.next_step()
    report = hook.close()
    hook.next_step()
    hook.save_scalar("a", 1)
    hook.save_tensor("a", np.ones(1))
    hook.record_tensor_value("a", np.ones(1))
    hook.set_mode(ModeKeys.EVAL)
    hook.end_step()
    assert hook.close() is report
    assert hook.report.steps_begun == 1


def test_a_closed_hook_is_silent_about_illegal_arguments(run_dir, caplog):
    hook = BaseHook(run_dir)
    hook.next_step()
    hook.close()
    for value in (np.ones(2), "text", 10**400, object()):
        hook.save_scalar("a", value)
    hook.save_scalar(5, 1)
    hook.save_tensor(5, object(), 7)
    hook.record_tensor_value(5, object())
    hook.set_mode("train")
    hook.next_step("a")
    hook.add_collection("mine")
    assert hook.should_save_tensor_or_collection(5, 7) is False
    assert caplog.text == ""


def test_a_hook_that_was_never_opened_is_silent_after_its_end(run_dir):
    hook = BaseHook(run_dir)
    assert hook.close() is None
    hook.next_step()
    hook.save_scalar("a", 1)
    assert hook.close() is None
    assert hook.step == -1
    assert not os.path.exists(run_dir)


def test_cleanup_closes(run_dir):
    hook = BaseHook(run_dir)
    hook.next_step()
    hook._cleanup()
    assert hook.report is not None


def test_a_hook_that_nobody_holds_is_closed(run_dir):
    hook = BaseHook(run_dir)
    hook.next_step()
    hook.save_scalar("a", 1)
    del hook
    gc.collect()
    with pytest.raises(SMDebugRuntimeError):
        BaseHook(run_dir)


def pickled(hook):
    return pickle.loads(pickle.dumps(hook))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_hook_does_nothing(run_dir, copied):
    hook = BaseHook(run_dir, **EVERY_STEP)
    hook.next_step()
    dead = copied(hook)
    dead.next_step()
    dead.save_scalar("a", 1)
    dead.close()
    assert (dead.step, dead.report, dead.out_dir) == (-1, None, run_dir)
    assert hook.close().steps_begun == 1


def run_script(text, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_hook_is_closed_when_the_interpreter_exits(run_dir, read_back):
    script = """
        import sys
        from cupel.core.base_hook import BaseHook
        begun, waiting = BaseHook(sys.argv[1]), BaseHook(sys.argv[2])
        begun.next_step()
        begun.save_scalar("a", 1)
        waiting.save_scalar("a", 1)
    """
    assert run_script(script, run_dir, run_dir + "2").returncode == 0
    assert read_back(run_dir)[0]["scalar/a"].item() == 1
    assert read_back(run_dir + "2")[0]["scalar/a"].item() == 1
    with pytest.raises(SMDebugRuntimeError):
        BaseHook(run_dir)


def test_a_hook_that_fails_at_exit_leaves_the_others_their_data(run_dir, read_back):
    script = """
        import sys
        from cupel.core.base_hook import BaseHook
        class FailingHook(BaseHook):
            def close(self):
                raise RuntimeError("no disk")
        hooks = [FailingHook(sys.argv[1] + str(k)) for k in range(4)]
        hooks.insert(2, BaseHook(sys.argv[1]))
        hooks[2].next_step()
        hooks[2].save_scalar("a", 1)
    """
    done = run_script(script, run_dir)
    assert done.stderr.count("was not closed: no disk") == 4
    assert read_back(run_dir)[0]["scalar/a"].item() == 1
    with pytest.raises(SMDebugRuntimeError):
        BaseHook(run_dir)


def test_the_child_of_a_fork_does_nothing(run_dir, read_back):
    script = """
        import os, sys
        from cupel.core.base_hook import BaseHook
        begun, waiting = BaseHook(sys.argv[1]), BaseHook(sys.argv[2])
        begun.next_step()
        begun.save_scalar("parent", 1)
        waiting.save_scalar("parent", 1)
        if os.fork() == 0:
            for hook in (begun, waiting):
                hook.save_scalar("child", 1)
                hook.next_step()
                hook.close()
            sys.exit(0)
        assert os.wait()[1] == 0
        waiting.next_step()
    """
    done = run_script(script, run_dir, run_dir + "2")
    assert done.returncode == 0, done.stderr
    assert list(read_back(run_dir)[0]) == ["scalar/parent"]
    assert list(read_back(run_dir + "2")[0]) == ["scalar/parent"]


def test_a_directory_that_cannot_be_written_ends_saving_and_not_the_training(tmp_path, caplog):
    hook = BaseHook(str(tmp_path / "file" / "run"))
    (tmp_path / "file").write_text("")
    hook.next_step()
    hook.save_scalar("a", 1)
    assert hook.step == -1
    assert "nothing is saved" in caplog.text


# ---- The hook of the process


def test_the_newest_hook_is_the_one_of_the_process(run_dir):
    hook = BaseHook(run_dir)
    assert hook_registry.get_hook(BaseHook, lambda: None) is hook


def test_a_hook_of_the_process_that_nobody_holds_is_gone():
    hook_registry.del_hook()
    assert hook_registry.get_hook(BaseHook, lambda: None) is None


def test_a_hook_that_was_set_is_held(run_dir):
    hook_registry.set_hook(BaseHook(run_dir))
    assert hook_registry.get_hook(BaseHook, lambda: None).out_dir == run_dir
    hook_registry.del_hook()


def test_a_closed_hook_is_not_the_one_of_the_process(run_dir):
    hook = BaseHook(run_dir)
    hook.close()
    assert hook_registry.get_hook(BaseHook, lambda: None) is None
    set_by_hand = BaseHook(run_dir)
    hook_registry.set_hook(set_by_hand)
    set_by_hand.close()
    assert hook_registry.get_hook(BaseHook, lambda: None) is None


def test_closing_a_hook_leaves_a_newer_one_in_its_place(run_dir):
    older, newer = BaseHook(run_dir), BaseHook(run_dir + "2")
    older.close()
    assert hook_registry.get_hook(BaseHook, lambda: None) is newer


def test_the_child_of_a_fork_gets_the_hook_that_does_nothing(run_dir):
    script = """
        import os, sys
        from cupel.core import hook_registry
        from cupel.core.base_hook import BaseHook
        hook = BaseHook(sys.argv[1])
        if os.fork() == 0:
            hook.close()
            os._exit(0 if hook_registry.get_hook(BaseHook, lambda: None) is hook else 1)
        assert os.wait()[1] == 0
    """
    done = run_script(script, run_dir)
    assert done.returncode == 0, done.stderr


def test_a_hook_of_another_framework_is_not_returned(run_dir):
    class OtherHook(BaseHook):
        pass

    hook = BaseHook(run_dir)
    assert hook_registry.get_hook(OtherHook, lambda: None) is None
    assert hook is not None


def test_what_is_no_hook_cannot_be_set():
    with pytest.raises(SMDebugTypeError):
        hook_registry.set_hook(3)


@pytest.mark.parametrize("framework", ["tensorflow", "mxnet"])
def test_a_framework_without_adapter_names_the_hook_for_all(framework):
    done = run_script(f"import cupel.{framework}")
    assert "ImportError" in done.stderr
    assert "cupel.Hook" in done.stderr
