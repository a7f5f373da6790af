"""When a step begins, and which mode it has."""

from __future__ import annotations

import subprocess
import sys

from every_step import every_step
import pytest
import torch
from torch import nn

import cupel.pytorch as smd
from cupel.exceptions import SMDebugValueError


@pytest.fixture
def line():
    return nn.Linear(2, 1)


@pytest.fixture
def x():
    return torch.ones(3, 2)


def hook_of(run_dir, module, **options):
    hook = every_step(run_dir, include_collections=["weights"], **options)
    hook.register_module(module)
    return hook


def test_each_forward_of_the_root_begins_a_step_from_zero(line, x, run_dir, saved):
    hook = hook_of(run_dir, line)
    steps = []
    for _ in range(3):
        line(x)
        steps.append(hook.step)
    assert steps == [0, 1, 2]
    assert list(saved(hook)) == [0, 1, 2]


def test_a_forward_without_gradients_begins_a_step(line, x, run_dir, saved):
    hook = hook_of(run_dir, line)
    with torch.no_grad():
        line(x)
    with torch.inference_mode():
        line(x)
    assert list(saved(hook)) == [0, 1]


def test_steps_of_the_user_replace_those_of_forwards(line, x, run_dir, saved):
    hook = hook_of(run_dir, line)
    hook.next_step()
    line(x)
    line(x)
    hook.next_step()
    line(x)
    assert list(saved(hook)) == [0, 1]


def test_modes_count_their_own_steps(line, x, run_dir, read_back):
    hook = hook_of(run_dir, line)
    for mode in (smd.modes.TRAIN, smd.modes.EVAL, smd.modes.TRAIN):
        hook.set_mode(mode)
        line(x)
    assert hook.mode_steps[smd.modes.TRAIN] == 1
    hook.close()
    assert list(read_back(run_dir, mode=smd.modes.TRAIN)) == [0, 1]
    assert list(read_back(run_dir, mode=smd.modes.EVAL)) == [0]
    assert list(read_back(run_dir)) == [0, 1, 2]


def test_without_a_mode_every_step_is_global(line, x, run_dir, read_back):
    hook = hook_of(run_dir, line)
    line(x)
    hook.close()
    assert list(read_back(run_dir, mode=smd.modes.TRAIN)) == []
    assert list(read_back(run_dir)) == [0]


def test_nothing_is_saved_between_a_change_of_mode_and_the_next_forward(x, run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(x)
    hook.set_mode(smd.modes.EVAL)
    net[0](x)
    assert "0_output_1" not in saved(hook)[0]


def test_an_update_ends_a_step_where_gradients_are_accumulated(line, x, run_dir, read_back):
    hook = hook_of(run_dir, line, step_on="update")
    hook.set_mode(smd.modes.TRAIN)
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    for _ in range(2):
        for _ in range(3):
            line(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    hook.close()
    assert list(read_back(run_dir)) == [0, 1]


def test_a_step_ended_by_an_update_has_the_weights_before_it(line, x, run_dir, saved):
    hook = hook_of(run_dir, line, step_on="update")
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    weights = []
    for _ in range(2):
        weights.append(line.weight.detach().clone().numpy())
        line(x).sum().backward()
        optimizer.step()
    steps = saved(hook)
    assert [steps[step]["Linear_weight"].tolist() for step in (0, 1)] == [
        weight.tolist() for weight in weights
    ]


def test_an_update_by_a_closure_that_forwards_many_times_is_one_step(line, x, run_dir, saved):
    hook = hook_of(run_dir, line, step_on="update")
    optimizer = torch.optim.LBFGS(line.parameters(), max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = (line(x) - 1).pow(2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    optimizer.step(closure)
    assert list(saved(hook)) == [0, 1]


def test_an_update_of_other_parameters_ends_no_step(line, x, run_dir, saved):
    hook = hook_of(run_dir, line, step_on="update")
    other = nn.Linear(2, 1)
    foreign = torch.optim.SGD(other.parameters(), lr=0.1)
    for _ in range(3):
        line(x).sum().backward()
        other(x).sum().backward()
        foreign.step()
    assert list(saved(hook)) == [0]


def test_forwards_begin_steps_of_evaluations_where_updates_end_those_of_training(
    line, x, run_dir, read_back
):
    hook = hook_of(run_dir, line, step_on="update")
    optimizer = torch.optim.SGD(line.parameters(), lr=0.1)
    for _ in range(2):
        hook.set_mode(smd.modes.TRAIN)
        line(x).sum().backward()
        optimizer.step()
        hook.set_mode(smd.modes.EVAL)
        line(x)
        line(x)
    hook.close()
    assert len(read_back(run_dir, mode=smd.modes.TRAIN)) == 2
    assert len(read_back(run_dir, mode=smd.modes.EVAL)) == 4


def test_steps_end_by_updates_where_the_forward_of_the_root_never_runs(x, run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    hook = every_step(run_dir, save_all=True, step_on="update")
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net[1](net[0](x)).sum().backward()
        optimizer.step()
    steps = saved(hook)
    assert list(steps) == [0, 1]
    assert {"0_output_0", "1_output_0", "Sequential_0.weight"} <= set(steps[1])


def test_a_step_ended_by_hand_takes_no_more_values(x, run_dir, read_back):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(x)
    hook.end_step()
    net[0](x)
    hook.close()
    assert "0_output_1" not in read_back(run_dir)[0]


@pytest.mark.parametrize(
    "option",
    [{"step_on": "epoch"}, {"gradients": "none"}, {"compiled": "never"}, {"mode": "TRAIN"}],
)
def test_an_option_without_that_choice_is_refused_by_its_name(option, run_dir):
    with pytest.raises(SMDebugValueError, match=next(iter(option))):
        smd.Hook(run_dir, **option)


def test_the_mode_of_the_root_is_taken_where_it_is_asked_for(line, x, run_dir, read_back):
    hook = hook_of(run_dir, line, mode="auto")
    line(x)
    line.eval()
    line(x)
    line(x)
    hook.close()
    assert list(read_back(run_dir, mode=smd.modes.TRAIN)) == [0]
    assert list(read_back(run_dir, mode=smd.modes.EVAL)) == [0, 1]


def test_a_mode_that_was_set_wins_over_that_of_the_root(line, x, run_dir, read_back):
    hook = hook_of(run_dir, line, mode="auto")
    hook.set_mode(smd.modes.PREDICT)
    line(x)
    hook.close()
    assert list(read_back(run_dir, mode=smd.modes.PREDICT)) == [0]


def test_recorded_values_begin_steps_where_the_forward_of_the_root_never_runs(x, run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 1))
    hook = every_step(run_dir, include_collections=["losses"], step_on="update")
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number in range(2):
        hook.record_tensor_value("my_loss", torch.tensor(float(number)))
        net[0](x).sum().backward()
        optimizer.step()
    steps = saved(hook)
    assert [steps[step]["my_loss_output_0"].item() for step in (0, 1)] == [0, 1]


FIRST_THE_SCHEDULER = """
import sys
import torch
import cupel.pytorch as smd
line = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(line.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
hook = smd.Hook(sys.argv[1], save_config=smd.SaveConfig(save_interval=1), step_on="update")
hook.register_module(line)
class Mine(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.5})
    def step(self, closure=None):
        pass
mine = Mine(line.parameters())
for each in (optimizer, mine):
    for _ in range(2):
        line(torch.ones(1, 2)).sum().backward()
        each.step()
    scheduler.step()
    print(hook.step)
"""


def test_updates_end_steps_whatever_was_there_before_the_hook(run_dir):
    command = [sys.executable, "-c", FIRST_THE_SCHEDULER, run_dir]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "3"], done.stderr
