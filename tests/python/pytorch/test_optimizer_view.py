"""The collection optimizer: rates, norms of gradients, and parameters that no optimizer has."""

from __future__ import annotations

from every_step import every_step
import pytest
import torch
from torch import nn

import cupel.pytorch as smd

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.fixture
def line():
    return nn.Linear(2, 1, bias=False)


def hook_of(run_dir, module, **options):
    hook = every_step(run_dir, include_collections=["optimizer"], **options)
    hook.register_module(module)
    return hook


def train(module, optimizer, steps=1, clip=None):
    for _ in range(steps):
        module(X).sum().backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()


def test_the_rate_of_each_group_is_saved(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    groups = [
        {"params": net[0].parameters(), "lr": 0.25},
        {"params": net[1].parameters(), "lr": 0.5},
    ]
    hook = hook_of(run_dir, net)
    train(net, torch.optim.SGD(groups, lr=0.1))
    values = saved(hook)[0]
    assert [values[f"optimizer/lr_{group}"].item() for group in (0, 1)] == [0.25, 0.5]


def test_a_rate_that_a_scheduler_changes_is_saved_as_it_is_used(line, run_dir, saved):
    hook = hook_of(run_dir, line)
    optimizer = torch.optim.SGD(line.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    for _ in range(3):
        train(line, optimizer)
        scheduler.step()
    rates = [values["optimizer/lr_0"].item() for values in saved(hook).values()]
    assert rates == [1.0, 0.5, 0.25]


def test_the_norm_shows_a_gradient_that_nobody_sets_to_zero(line, run_dir, saved):
    hook = hook_of(run_dir, line)
    train(line, torch.optim.SGD(line.parameters(), lr=0.1), steps=2)
    steps = saved(hook)
    norm = (4.0**2 + 6.0**2) ** 0.5
    assert steps[1]["optimizer/gradient_norm"].item() == pytest.approx(2 * norm)
    assert steps[1]["optimizer/gradient_norm_pass"].item() == pytest.approx(norm)


def test_the_norm_is_that_behind_clipping_and_the_norm_of_the_pass_before(line, run_dir, saved):
    hook = hook_of(run_dir, line)
    train(line, torch.optim.SGD(line.parameters(), lr=0.1), clip=0.5)
    values = saved(hook)[0]
    assert values["optimizer/gradient_norm"].item() == pytest.approx(0.5, rel=1e-4)
    assert values["optimizer/gradient_norm_pass"].item() == pytest.approx(52**0.5)


def test_the_view_is_not_saved_by_default(line, run_dir, saved):
    hook = every_step(run_dir, include_collections=["weights"])
    hook.register_module(line)
    train(line, torch.optim.SGD(line.parameters(), lr=0.1))
    assert set(saved(hook)[0]) == {"Linear_weight"}


def test_a_second_optimizer_has_names_of_its_own(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    optimizers = [torch.optim.SGD(m.parameters(), lr=lr) for m, lr in zip(net, (0.5, 0.25))]
    net(X).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    values = saved(hook)[0]
    assert values["optimizer/lr_0"].item() == 0.5
    assert values["optimizer_1/lr_0"].item() == 0.25


def test_an_optimizer_of_other_parameters_is_not_seen(line, run_dir, saved):
    hook = hook_of(run_dir, line)
    other = nn.Linear(2, 1)
    line(X)
    train(other, torch.optim.SGD(other.parameters(), lr=0.1))
    assert saved(hook) == {}


def test_parameters_that_no_optimizer_has_are_reported_once_by_name(run_dir):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    train(net, torch.optim.SGD(net[1].parameters(), lr=0.1), steps=6)
    problems = hook.close().problems
    assert len(problems) == 1
    assert "Sequential_0.weight" in problems[0] and "Sequential_1" not in problems[0]


def test_an_optimizer_class_of_the_user_is_seen(line, run_dir, saved):
    class Descent(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    hook = hook_of(run_dir, line)
    train(line, Descent(line.parameters(), lr=0.5))
    assert saved(hook)[0]["optimizer/lr_0"].item() == 0.5


def test_parameters_of_a_group_that_is_added_later_are_seen(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 1, bias=False), nn.Linear(1, 1, bias=False))
    hook = every_step(run_dir, include_collections=["gradients"], gradients="update")
    hook.register_module(net)
    optimizer = torch.optim.SGD(net[0].parameters(), lr=0.1)
    train(net, optimizer)
    optimizer.add_param_group({"params": net[1].parameters()})
    train(net, optimizer)
    steps = saved(hook)
    assert "gradient/Sequential_1.weight" not in steps[0]
    assert "gradient/Sequential_1.weight" in steps[1]


def test_parameters_whose_optimizer_steps_seldom_are_not_reported(run_dir):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    generator, critic = (torch.optim.SGD(part.parameters(), lr=0.1) for part in net)
    for step in range(6):
        train(net, generator if step == 5 else critic)
    assert hook.close().problems == []
    assert "frozen" not in smd.create_trial(run_dir).collections() or not (
        smd.create_trial(run_dir).tensor_names(collection="frozen")
    )


def test_a_run_without_an_optimizer_has_no_name_of_one(line, run_dir):
    hook = every_step(run_dir, include_collections=["weights"])
    hook.register_module(line)
    line(X)
    assert not [name for name in hook.close().never_saved if "optimizer" in name]


def test_the_norm_counts_complex_gradients(run_dir, saved):
    class Turn(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1 + 2j, 3 - 4j]))

        def forward(self, x):
            return (self.weight * x).abs().pow(2)

    turn = Turn()
    hook = hook_of(run_dir, turn)
    train(turn, torch.optim.SGD(turn.parameters(), lr=0.0))
    norm = float(torch.view_as_real(turn.weight.grad).norm())
    assert saved(hook)[0]["optimizer/gradient_norm"].item() == pytest.approx(norm)
