"""Copies of watched models, other processes and threads, and the end of a hook."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import subprocess
import sys
import threading
import warnings

from every_step import every_step
import numpy as np
import pytest
import torch
from torch import nn

import cupel.pytorch as smd

X = torch.ones(1, 2)


@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))


@pytest.fixture
def hook(net, run_dir):
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(X).sum().backward()
    return hook


def through_pickle(net):
    return pickle.loads(pickle.dumps(net))


def through_torch(net):
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    keywords = {"weights_only": False} if "weights_only" in torch.load.__doc__ else {}
    return torch.load(buffer, **keywords)


@pytest.mark.parametrize("made", [copy.deepcopy, through_pickle, through_torch])
def test_the_copy_of_a_watched_model_works_and_saves_nothing(net, hook, saved, made):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copied = made(net)
    assert torch.equal(copied(X), net(X))
    copied(X).sum().backward()
    assert hook.step == 1
    assert list(saved(hook)) == [0, 1]


def test_a_hook_pickles_to_one_whose_calls_do_nothing(net, hook):
    dead = pickle.loads(pickle.dumps(hook))
    dead.register_module(nn.Linear(2, 2))
    dead.next_step()
    dead.save_scalar("loss", 1.0)
    with dead.pause():
        pass
    assert dead.step == -1
    assert dead.close() is None
    hook.close()


def test_a_state_dict_has_nothing_of_the_hook(net, hook):
    assert set(net.state_dict()) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    hook.close()


def test_closing_takes_every_hook_off_the_model(net, hook):
    hook.close()
    for module in net.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks
    for parameter in net.parameters():
        assert not parameter._backward_hooks


def test_every_call_behind_close_is_silent(net, hook, run_dir, read_back):
    hook.close()
    net(X).sum().backward()
    hook.save_scalar("loss", 1.0)
    hook.save_tensor("mine", X)
    hook.record_tensor_value("mine", X)
    hook.set_mode(smd.modes.EVAL)
    hook.next_step()
    hook.end_step()
    hook.register_module(nn.ReLU())
    hook.register_loss(nn.MSELoss())
    assert list(read_back(run_dir)) == [0]
    assert hook.close() is hook.report


def test_a_hook_that_only_a_model_holds_is_closed_with_the_model(run_dir, read_back):
    net = nn.Linear(2, 1)
    every_step(run_dir, include_collections=["weights"]).register_module(net)
    net(X)
    net(X)
    del net
    gc.collect()
    trial = smd.create_trial(run_dir)
    assert trial.steps() == [0, 1]
    assert trial.loaded_all_steps


SCRIPT = """
import torch, cupel.pytorch as smd
net = torch.nn.Linear(2, 1)
hook = smd.Hook({run!r}, include_collections=["weights"],
    save_config=smd.SaveConfig(save_interval=1))
hook.register_module(net)
for _ in range(3):
    net(torch.ones(1, 2))
{end}
"""


@pytest.mark.parametrize("end", ["", "raise RuntimeError('the loop failed')"])
def test_a_hook_that_is_not_closed_is_closed_when_the_interpreter_exits(run_dir, end):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(run=run_dir, end=end)], capture_output=True, text=True
    )
    assert done.returncode == (1 if end else 0), done.stderr
    trial = smd.create_trial(run_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps


class Numbers(torch.utils.data.Dataset):
    """A data set whose items run a watched model, as a careless one may."""

    def __init__(self, net):
        self.net = net

    def __len__(self):
        return 8

    def __getitem__(self, index):
        with torch.no_grad():
            return self.net(X)[0]


def test_forked_loaders_of_data_save_nothing_and_begin_no_step(net, hook, saved):
    loader = torch.utils.data.DataLoader(
        Numbers(net), batch_size=2, num_workers=2, multiprocessing_context="fork"
    )
    assert sum(len(batch) for batch in loader) == 8
    net(X)
    assert list(saved(hook)) == [0, 1]


def test_a_hook_works_in_a_thread_that_is_not_the_main_one(run_dir, saved):
    net = nn.Linear(2, 1)
    hook = every_step(run_dir, save_all=True)

    def work():
        hook.register_module(net)
        net(X).sum().backward()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "gradient/Linear_weight" in saved(hook)[0]


def test_an_exception_in_the_loop_leaves_what_was_saved(net, run_dir, read_back):
    with pytest.raises(ZeroDivisionError):
        with every_step(run_dir, save_all=True) as hook:
            hook.register_module(net)
            net(X)
            raise ZeroDivisionError
    assert np.array_equal(read_back(run_dir)[0]["0_input_0"], X.numpy())


RANK = """
import sys, torch, cupel.pytorch as smd
line = torch.nn.Linear(2, 1)
hook = smd.Hook(
    sys.argv[1], include_workers="all", worker=f"worker_{sys.argv[2]}", num_workers=2,
    include_collections=["weights"],
)
hook.register_module(line)
line(torch.ones(1, 2))
assert hook.close().problems == []
"""


def test_two_processes_without_torch_distributed_write_one_run(run_dir):
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, run_dir, str(rank)]) for rank in (0, 1)
    ]
    assert [rank.wait(120) for rank in ranks] == [0, 0]
    trial = smd.create_trial(run_dir)
    assert sorted(trial.workers()) == ["worker_0", "worker_1"]
    assert trial.steps() == [0]
