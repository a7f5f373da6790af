# requires: torch>=2.4
"""Models that torch.compile has compiled."""

from __future__ import annotations

import logging

from every_step import every_step
import numpy as np
import pytest
import torch
from torch import nn

import cupel.pytorch as smd

X = torch.ones(2, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


BOUNDARY = {
    *(f"{p}Net_{q}" for p in ("", "gradient/") for q in ("fc1.weight", "fc1.bias", "fc2.weight")),
    "Net_fc2.bias",
    "gradient/Net_fc2.bias",
    "Net_input_0",
    "Net_output_0",
    "MSELoss_input_0",
    "MSELoss_input_1",
    "MSELoss_output_0",
}
INSIDE = {
    "fc1_input_0",
    "fc1_output_0",
    "relu_input_0",
    "relu_output_0",
    "fc2_input_0",
    "fc2_output_0",
}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def graph_breaks():
    return sum(torch._dynamo.utils.counters["graph_break"].values())


def graphs():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def train(hook, net, steps=3):
    criterion = nn.MSELoss()
    if hook.step < 0:
        hook.register_loss(criterion)
    for _ in range(steps):
        criterion(net(X), torch.zeros(2, 2)).backward()


def wrapped(hook):
    net = torch.compile(Net(), fullgraph=True, backend="aot_eager")
    hook.register_module(net)
    return net


def wrapped_behind_registration(hook):
    net = Net()
    hook.register_module(net)
    return torch.compile(net, fullgraph=True, backend="aot_eager")


def in_place(hook):
    net = Net()
    net.compile(fullgraph=True, backend="aot_eager")
    hook.register_module(net)
    return net


def in_place_behind_registration(hook):
    net = Net()
    hook.register_module(net)
    net.compile(fullgraph=True, backend="aot_eager")
    return net


WAYS = [wrapped, wrapped_behind_registration, in_place, in_place_behind_registration]


@pytest.mark.parametrize("compiled", WAYS)
def test_the_boundary_of_a_compiled_model_is_seen_without_a_graph_break(compiled, run_dir, saved):
    hook = every_step(run_dir, save_all=True)
    train(hook, compiled(hook))
    assert graph_breaks() == 0
    steps = saved(hook)
    assert list(steps) == [0, 1, 2]
    assert set(steps[2]) == BOUNDARY


@pytest.mark.parametrize("compiled", WAYS)
def test_steps_that_are_due_compile_nothing_anew(compiled, run_dir):
    hook = every_step(run_dir, save_all=True, save_config=smd.SaveConfig(save_interval=2))
    net = compiled(hook)
    train(hook, net, steps=2)
    before = graphs()
    train(hook, net, steps=4)
    hook.close()
    assert graphs() == before


@pytest.mark.parametrize("compiled", WAYS)
def test_everything_is_seen_at_due_steps_that_run_eagerly(compiled, run_dir, saved):
    hook = every_step(
        run_dir, save_all=True, compiled="eager", save_config=smd.SaveConfig(save_interval=2)
    )
    train(hook, compiled(hook), steps=4)
    steps = saved(hook)
    assert list(steps) == [0, 2]
    assert set(steps[2]) == BOUNDARY | INSIDE


def test_steps_that_are_not_due_run_compiled_where_due_ones_run_eagerly(run_dir):
    hook = every_step(
        run_dir, save_all=True, compiled="eager", save_config=smd.SaveConfig(save_interval=3)
    )
    net = wrapped(hook)
    train(hook, net, steps=7)
    hook.close()
    assert graphs() == 1


def test_a_compiled_module_within_a_model_is_seen_at_its_boundary(run_dir, saved):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3, 3)
            self.net = torch.compile(Net(), backend="aot_eager")

        def forward(self, x):
            return self.net(self.head(x))

    outer = Outer()
    hook = every_step(run_dir, save_all=True)
    hook.register_module(outer)
    outer(X).sum().backward()
    values = saved(hook)[0]
    assert {"net_input_0", "net_output_0", "head_output_0", "Outer_net.fc1.weight"} <= set(values)
    assert not INSIDE & set(values) and not [n for n in values if "_orig_mod" in n]


def test_a_step_that_is_compiled_as_a_whole_ends_by_its_update(run_dir, saved):
    net = Net()
    hook = every_step(run_dir, include_collections=["weights", "gradients"], step_on="update")
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile(backend="aot_eager")
    def loss_of(x):
        return net(x).sum()

    weights = []
    for _ in range(3):
        weights.append(net.fc1.weight.detach().clone().numpy())
        loss_of(X).backward()
        optimizer.step()
    steps = saved(hook)
    assert list(steps) == [0, 1, 2]
    for step, weight in enumerate(weights):
        assert np.array_equal(steps[step]["Net_fc1.weight"], weight)


def test_a_forward_that_is_seen_by_nobody_gives_a_warning_at_the_end(run_dir, caplog):
    net = nn.Sequential(nn.Linear(3, 2))
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    torch.compile(net, fullgraph=True, backend="aot_eager")(X)
    with caplog.at_level(logging.WARNING, logger="cupel"):
        hook.close()
    assert [r for r in caplog.records if "Sequential" in r.getMessage()]


def test_compiled_training_ends_with_the_same_bits(run_dir):
    def trained(hook):
        torch.manual_seed(2)
        torch._dynamo.reset()
        net = torch.compile(Net(), backend="aot_eager")
        if hook is not None:
            hook.register_module(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(X).pow(2).sum().backward()
            optimizer.step()
        return b"".join(p.detach().numpy().tobytes() for p in net.parameters())

    hook = every_step(run_dir, save_all=True)
    watched = trained(hook)
    hook.close()
    assert watched == trained(None)


def stance():
    return torch._dynamo.eval_frame._stance.stance


def test_the_stance_of_the_user_is_restored(run_dir):
    hook = every_step(
        run_dir, save_all=True, compiled="eager", save_config=smd.SaveConfig(save_interval=2)
    )
    net = wrapped_behind_registration(hook)
    with torch.compiler.set_stance("eager_on_recompile"):
        net(X)
        assert stance() == "force_eager"
        net(X)
        assert stance() == "eager_on_recompile"
    hook.close()


@pytest.mark.parametrize(
    "end", [lambda hook: hook.end_step(), lambda hook: hook.set_mode(smd.modes.EVAL)]
)
def test_compiled_code_runs_compiled_once_a_due_step_has_ended(end, run_dir):
    hook = every_step(run_dir, save_all=True, compiled="eager")
    wrapped_behind_registration(hook)(X)
    assert stance() == "force_eager"
    end(hook)
    assert stance() == "default"
    hook.close()


def test_compiled_code_runs_compiled_within_a_pause(run_dir):
    hook = every_step(run_dir, save_all=True, compiled="eager")
    wrapped_behind_registration(hook)(X)
    with hook.pause():
        assert stance() == "default"
    assert stance() == "force_eager"
    hook.close()
    assert stance() == "default"


@pytest.mark.parametrize("gradients, steps", [("pass", []), ("update", [0, 1, 2])])
def test_compiled_autograd_shows_gradients_in_updates_alone(gradients, steps, run_dir):
    net = nn.Linear(3, 2)
    hook = every_step(run_dir, include_collections=["gradients"], gradients=gradients)
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    compiler = torch.compile(backend="eager", fullgraph=True)
    with torch._dynamo.compiled_autograd._enable(compiler):
        for _ in range(3):
            net(X).sum().backward()
            optimizer.step()
    problems = hook.close().problems
    assert graph_breaks() == 0
    assert [p for p in problems if 'gradients="update"' in p] == problems
    assert len(problems) == (gradients == "pass")
    assert smd.create_trial(run_dir).steps() == steps
