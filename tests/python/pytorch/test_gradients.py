"""Gradients: of a backward pass, and of the update."""

from __future__ import annotations

from every_step import every_step
import numpy as np
import pytest
import torch
from torch import nn

import cupel.pytorch as smd

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
NAME = "gradient/Linear_weight"


@pytest.fixture
def line():
    return nn.Linear(2, 1)


def hook_of(run_dir, module, **options):
    hook = every_step(run_dir, include_collections=["gradients"], **options)
    hook.register_module(module)
    return hook


def test_the_second_pass_of_a_step_gives_its_own_gradient_and_not_the_sum(line, run_dir, saved):
    hook = hook_of(run_dir, line)
    loss = line(X).sum()
    loss.backward(retain_graph=True)
    (2 * loss).backward()
    assert saved(hook)[0][NAME].tolist() == [[8, 12]]
    assert line.weight.grad.tolist() == [[12, 18]]


def test_a_gradient_of_the_update_is_accumulated_and_clipped(line, run_dir, saved):
    hook = hook_of(run_dir, line, gradients="update")
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    loss = line(X).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(line.parameters(), 1.0)
    clipped = line.weight.grad.clone()
    optimizer.step()
    assert saved(hook)[0][NAME].tobytes() == clipped.numpy().tobytes()


def test_a_frozen_parameter_has_a_value_and_no_gradient(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    net[0].weight.requires_grad_(False)
    hook = hook_of(run_dir, net)
    hook.get_collection("mine").include(["Sequential_0.weight"])
    hook.collection_manager.get("gradients")
    net(X).sum().backward()
    assert "gradient/Sequential_0.weight" not in saved(hook)[0]


def test_a_parameter_that_is_trained_later_has_a_gradient_from_then_on(line, run_dir, saved):
    line.weight.requires_grad_(False)
    hook = hook_of(run_dir, line)
    line(X).sum().backward()
    line.weight.requires_grad_(True)
    line(X).sum().backward()
    steps = saved(hook)
    assert NAME not in steps[0]
    assert NAME in steps[1]


def test_a_shared_parameter_has_one_name_and_the_gradient_of_both_uses(run_dir, saved):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 2, bias=False)
            self.second = nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    net = Tied()
    hook = hook_of(run_dir, net)
    net(X).sum().backward()
    values = saved(hook)[0]
    assert set(values) == {"gradient/Tied_first.weight"}
    assert np.array_equal(values["gradient/Tied_first.weight"], net.first.weight.grad.numpy())


def test_gradients_are_not_due_in_an_evaluation(line, run_dir, read_back):
    hook = hook_of(run_dir, line)
    hook.set_mode(smd.modes.EVAL)
    line(X).sum().backward()
    hook.set_mode(smd.modes.TRAIN)
    line(X).sum().backward()
    hook.close()
    assert list(read_back(run_dir, mode=smd.modes.EVAL)) == []
    assert NAME in read_back(run_dir, mode=smd.modes.TRAIN)[0]


def test_a_gradient_in_another_due_collection_is_saved_in_an_evaluation(line, run_dir, read_back):
    hook = every_step(run_dir, save_all=True)
    hook.register_module(line)
    hook.set_mode(smd.modes.EVAL)
    line(X).sum().backward()
    hook.close()
    assert NAME in read_back(run_dir, mode=smd.modes.EVAL)[0]


def test_a_sparse_gradient_of_an_embedding_is_saved_dense(run_dir, saved):
    net = nn.Embedding(4, 2, sparse=True)
    hook = hook_of(run_dir, net)
    net(torch.tensor([1, 1, 3])).sum().backward()
    values = saved(hook)[0]["gradient/Embedding_weight"]
    assert values.tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


@pytest.mark.requires("torch>=2.4")
def test_a_gradient_of_the_update_is_unscaled_where_a_scaler_is_used(line, run_dir, read_back):
    hook = hook_of(run_dir, line, gradients="update", step_on="update")
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(line(X).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    hook.close()
    assert read_back(run_dir)[0][NAME].tolist() == [[4, 6]]


@pytest.mark.requires("torch>=2.4")
def test_an_update_that_a_scaler_skips_ends_no_step(line, run_dir, read_back):
    hook = every_step(run_dir, include_collections=["weights"], step_on="update")
    hook.register_module(line)
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for factor in (float("inf"), 1.0, 1.0):
        scaler.scale(line(X).sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    hook.close()
    assert list(read_back(run_dir)) == [0, 1]


@pytest.mark.requires("torch>=2.4")
def test_an_update_that_a_fused_optimizer_skips_ends_no_step(line, run_dir, read_back):
    hook = hook_of(run_dir, line, gradients="update", step_on="update")
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for factor in (float("inf"), 1.0, 1.0):
        scaler.scale(line(X).sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    hook.close()
    steps = read_back(run_dir)
    assert list(steps) == [0, 1]
    assert steps[1][NAME].tolist() == [[4, 6]]
