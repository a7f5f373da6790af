"""Activation checkpointing runs a forward again within the backward pass."""

from __future__ import annotations

from every_step import every_step
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

X = torch.ones(2, 3)
KINDS = [
    True,
    pytest.param(False, marks=pytest.mark.requires("torch>=2.0")),
]


class Net(nn.Module):
    def __init__(self, reentrant=None):
        super().__init__()
        self.reentrant = reentrant
        self.first = nn.Linear(3, 3)
        self.body = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))

    def forward(self, x):
        x = self.first(x)
        if self.reentrant is None:
            return self.body(x)
        return checkpoint(self.body, x, use_reentrant=self.reentrant)


def train(net, run, read_back):
    torch.manual_seed(5)
    for parameter in net.parameters():
        nn.init.normal_(parameter)
    hook = every_step(run, save_all=True)
    hook.register_module(net)
    for _ in range(3):
        net(X).sum().backward()
    assert hook.close().problems == []
    return read_back(run)


@pytest.mark.parametrize("reentrant", KINDS)
def test_steps_and_numbers_are_as_without_checkpointing(reentrant, tmp_path, read_back):
    plain = train(Net(), str(tmp_path / "plain"), read_back)
    repeated = train(Net(reentrant), str(tmp_path / "repeated"), read_back)
    assert list(repeated) == list(plain) == [0, 1, 2]
    for step, values in plain.items():
        assert set(values) == set(repeated[step])
        assert all(np.array_equal(values[name], repeated[step][name]) for name in values)


@pytest.mark.parametrize("reentrant", KINDS)
def test_a_root_within_the_checkpoint_begins_no_step_in_the_backward_pass(
    reentrant, run_dir, saved
):
    net = Net()
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    x = X.clone().requires_grad_()
    for _ in range(3):
        checkpoint(net, x, use_reentrant=reentrant).sum().backward()
    assert list(saved(hook)) == [0, 1, 2]
