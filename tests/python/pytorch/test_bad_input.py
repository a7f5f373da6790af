"""Calls that cannot be right, and tensors that have no values."""

from __future__ import annotations

import gc
import logging
import weakref

import numpy as np
import pytest
import torch
from torch import nn

import cupel.pytorch as smd
from cupel.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)

X = torch.ones(1, 2)


@pytest.fixture
def hook(run_dir):
    hook = smd.Hook(run_dir, save_all=True)
    yield hook
    hook.close()


@pytest.mark.parametrize("thing", [None, "net", object(), nn.Linear])
def test_what_is_no_module_is_refused(hook, thing):
    with pytest.raises(SMDebugTypeError, match="torch.nn.Module"):
        hook.register_module(thing)


def test_a_scripted_module_is_refused_with_the_name_of_what_sees_it(hook):
    with pytest.raises(SMDebugTypeError, match="cupel::libtorch::Watch"):
        hook.register_module(torch.jit.script(nn.Linear(2, 1)))


@pytest.mark.parametrize("thing", [nn.Linear(2, 1), torch.nn.functional.mse_loss, None])
def test_what_is_no_loss_module_is_refused_with_the_name_of_another_way(hook, thing):
    with pytest.raises(SMDebugTypeError, match="record_tensor_value"):
        hook.register_loss(thing)


def test_the_same_loss_module_twice_is_refused(hook):
    loss = nn.MSELoss()
    hook.register_loss(loss)
    with pytest.raises(SMDebugValueError, match="MSELoss"):
        hook.register_loss(loss)


def test_a_hook_without_a_directory_is_refused():
    with pytest.raises(SMDebugRuntimeError, match="out_dir"):
        smd.Hook()


def test_a_finished_run_in_the_directory_is_refused(run_dir):
    net = nn.Linear(2, 1)
    with smd.Hook(run_dir, save_all=True) as hook:
        hook.register_module(net)
        net(X)
    with pytest.raises(SMDebugRuntimeError):
        smd.Hook(run_dir)


def test_an_unknown_mode_is_refused(hook):
    with pytest.raises(SMDebugValueError, match="TRAIN"):
        hook.set_mode("TRAIN")


def test_an_unknown_reduction_is_refused():
    with pytest.raises(SMDebugValueError, match="average"):
        smd.ReductionConfig(reductions=["average"])


def test_a_negative_interval_is_refused():
    with pytest.raises(SMDebugValueError):
        smd.SaveConfig(save_interval=-1)


def test_a_bad_pattern_is_refused(run_dir):
    with pytest.raises(SMDebugValueError):
        smd.Hook(run_dir, include_regex=["("])


@pytest.mark.parametrize("value", [torch.ones(2), np.ones(3), "one", [1, 2]])
def test_a_scalar_of_several_elements_is_refused(hook, value):
    with pytest.raises(SMDebugTypeError, match="mine"):
        hook.save_scalar("mine", value)


def test_a_collection_that_selects_nothing_is_refused_when_the_first_step_begins(run_dir):
    hook = smd.Hook(run_dir, include_collections=["empty"])
    hook.get_collection("empty")
    net = nn.Linear(2, 1)
    hook.register_module(net)
    with pytest.raises(InvalidCollectionConfiguration, match="empty"):
        net(X)


def test_tensors_of_a_module_in_no_root_are_refused_when_the_first_step_begins(run_dir):
    hook = smd.Hook(run_dir, include_collections=["mine"])
    hook.get_collection("mine").add_module_tensors(nn.ReLU(), outputs=True)
    net = nn.Linear(2, 1)
    hook.register_module(net)
    with pytest.raises(InvalidCollectionConfiguration, match="mine"):
        net(X)


def test_tensors_of_what_is_no_module_are_refused(hook):
    with pytest.raises(SMDebugTypeError):
        hook.get_collection("mine").add_module_tensors("fc1")


def test_a_collection_changed_behind_the_first_step_gives_one_warning(run_dir, caplog, read_back):
    net = nn.Linear(2, 1)
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(run_dir, include_collections=["weights"], save_config=every_step)
    hook.register_module(net)
    net(X)
    with caplog.at_level(logging.WARNING, logger="cupel"):
        hook.get_collection("weights").include(["bias"])
        net(X)
        hook.close()
    assert len([r for r in caplog.records if "weights" in r.getMessage()]) == 1
    assert set(read_back(run_dir)[1]) == {"Linear_weight"}


def test_parameters_on_the_device_meta_are_reported_once_by_name(run_dir):
    net = nn.Linear(2, 1, device="meta")
    hook = smd.Hook(run_dir, include_collections=["weights"])
    hook.register_module(net)
    for _ in range(2):
        net(torch.ones(1, 2, device="meta"))
    problems = hook.close().problems
    assert len(problems) == 1
    assert "Linear_weight" in problems[0] and "meta" in problems[0]


def test_a_failure_within_a_hook_is_reported_once_and_does_not_leave_it(run_dir, monkeypatch):
    from cupel.pytorch._saver import Saver

    def fail(*_):
        raise RuntimeError("no luck")

    net = nn.Sequential(nn.Linear(2, 1))
    hook = smd.Hook(run_dir, save_all=True)
    hook.register_module(net)
    monkeypatch.setattr(Saver, "save_inputs", fail)
    for _ in range(2):
        net(X).sum().backward()
    problems = hook.close().problems
    assert len([p for p in problems if "no luck" in p]) == len(problems) > 0


def test_scripting_a_watched_model_works_behind_close(hook):
    net = nn.Linear(2, 1)
    hook.register_module(net)
    net(X)
    hook.close()
    assert torch.jit.script(net)(X).shape == (1, 1)


def test_loss_modules_that_are_freed_are_forgotten(run_dir):
    hook = smd.Hook(run_dir)
    for _ in range(50):
        hook.register_loss(nn.MSELoss())
    hook.close()


def test_a_recorded_value_that_cannot_be_saved_is_reported_and_not_raised(run_dir):
    net = nn.Linear(2, 1)
    hook = smd.Hook(run_dir)
    hook.register_module(net)
    net(X)
    hook.record_tensor_value("aux_loss", None)
    problems = hook.close().problems
    assert len(problems) == 1 and "aux_loss" in problems[0]


def test_a_failure_whose_text_changes_is_reported_once(run_dir, monkeypatch):
    from cupel.pytorch._saver import Saver

    count = iter(range(10))

    def fail(*_):
        raise RuntimeError(f"no luck {next(count)}")

    net = nn.Linear(2, 1)
    hook = smd.Hook(run_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(net)
    monkeypatch.setattr(Saver, "save_inputs", fail)
    for _ in range(3):
        net(X)
    assert len(hook.close().problems) == 1


def callbacks_of(net):
    return [*net._forward_hooks, *net._forward_pre_hooks, *(net.weight._backward_hooks or ())]


def test_a_hook_whose_run_cannot_be_opened_takes_its_callbacks_off(run_dir, tmp_path, caplog):
    net = nn.Linear(2, 1)
    hook = smd.Hook(run_dir)
    hook.register_module(net)
    (tmp_path / "run").write_text("a file, and no directory")
    net(X)
    assert [r for r in caplog.records if "nothing is saved" in r.getMessage()]
    hook.close()
    assert callbacks_of(net) == []


def test_a_closed_hook_does_not_keep_the_model_alive(run_dir):
    net = nn.Sequential(nn.Linear(2, 1))
    loss = nn.MSELoss()
    hook = smd.Hook(run_dir, save_all=True)
    hook.register_module(net)
    hook.register_loss(loss)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss(net(X), torch.zeros(1, 1)).backward()
    optimizer.step()
    hook.close()
    module = weakref.ref(net)
    del net, optimizer
    gc.collect()
    assert module() is None
    assert callable(hook.close) and not loss._forward_hooks
