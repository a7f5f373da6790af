"""Forwards that are no training: pauses, and what torch repeats, traces or transforms."""

from __future__ import annotations

import copy

from every_step import every_step
import pytest
import torch
from torch import nn

from cupel.pytorch._torch import in_backward


@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))


@pytest.fixture
def hook(net, run_dir):
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    return hook


X = torch.ones(3, 2)


def test_forwards_within_a_pause_begin_no_step_and_save_nothing(net, hook, saved):
    net(X)
    with hook.pause():
        net(X)
        net[0](X)
    steps = saved(hook)
    assert list(steps) == [0]
    assert "0_output_1" not in steps[0]


def test_a_step_goes_on_behind_a_pause(net, hook, saved):
    output = net(X)
    with hook.pause():
        net(X)
    output.sum().backward()
    assert "gradient/Sequential_0.weight" in saved(hook)[0]


def test_a_pause_before_the_first_step_begins_none(net, hook, saved):
    with hook.pause():
        net(X)
    assert hook.step == -1
    net(X)
    assert list(saved(hook)) == [0]


def test_tracing_by_jit_begins_no_step_and_saves_nothing(net, hook, saved):
    torch.jit.trace(net, X, check_trace=False)
    assert hook.step == -1
    net(X)
    torch.jit.trace(net, X, check_trace=False)
    steps = saved(hook)
    assert list(steps) == [0]
    assert "0_output_1" not in steps[0]


@pytest.mark.requires("torch>=2.0")
def test_a_forward_under_vmap_begins_no_step_and_saves_nothing(net, hook, saved):
    net(X)
    torch.vmap(net)(torch.ones(4, 3, 2))
    steps = saved(hook)
    assert list(steps) == [0]
    assert "0_output_1" not in steps[0]


@pytest.mark.requires("torch>=2.0")
def test_a_functional_gradient_begins_no_step_and_saves_nothing(net, hook, saved):
    net(X)
    parameters = {name: p.detach() for name, p in net.named_parameters()}

    def loss(parameters):
        return torch.func.functional_call(net, parameters, (X,)).sum()

    torch.func.grad(loss)(parameters)
    steps = saved(hook)
    assert list(steps) == [0]
    assert "0_output_1" not in steps[0]


@pytest.mark.requires("torch>=2.1")
def test_exporting_a_model_begins_no_step_and_saves_nothing(net, hook, saved):
    net(X)
    torch.export.export(net, (X,))
    steps = saved(hook)
    assert list(steps) == [0]
    assert "0_output_1" not in steps[0]


@pytest.mark.requires("torch>=2.0")
def test_fake_tensors_begin_no_step(net, hook):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        net(mode.from_tensor(X))
    assert hook.step == -1
    hook.close()


def test_a_forward_in_inference_mode_is_saved_with_its_values(net, hook, saved):
    with torch.inference_mode():
        output = net(X)
    assert saved(hook)[0]["Sequential_output_0"].tobytes() == output.numpy().tobytes()


def test_a_step_begun_within_a_pause_takes_values_after_it(net, hook, saved):
    with hook.pause():
        hook.next_step()
    net(X)
    assert "0_output_0" in saved(hook)[0]


def test_the_check_of_a_trace_begins_no_step_and_saves_nothing(net, hook, saved):
    net(X)
    torch.jit.trace(net, X)
    steps = saved(hook)
    assert list(steps) == [0]
    assert "0_output_1" not in steps[0]


def test_a_copy_of_a_watched_model_loses_its_dead_callbacks_at_its_first_call(net, hook):
    net(X)
    copied = copy.deepcopy(net)
    copied(X)
    assert not [m for m in copied.modules() if m._forward_hooks or m._forward_pre_hooks]
    assert torch.jit.script(copied)(X).shape == (3, 1)
    assert net._forward_hooks and net._forward_pre_hooks


def test_a_pass_on_a_thread_of_the_engine_is_a_backward_pass():
    seen = []

    class Noting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append(in_backward())
            return gradient

    out = Noting.apply(torch.ones(1, requires_grad=True))
    engine = torch.autograd.Variable._execution_engine
    engine.run_backward(
        (out,), (torch.ones(1),), False, False, (), allow_unreachable=True, accumulate_grad=True
    )
    assert seen == [True]
