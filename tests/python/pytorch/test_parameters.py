"""Parameters that get their values late, or are replaced."""

from __future__ import annotations

import gc
import logging
import weakref

from every_step import every_step
import numpy as np
import pytest
import torch
from torch import nn

X = torch.ones(1, 2)


def hook_of(run_dir, module):
    hook = every_step(run_dir, include_collections=["weights", "gradients"])
    hook.register_module(module)
    return hook


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_lazy_parameters_are_saved_behind_the_first_forward(run_dir, saved):
    net = nn.Sequential(nn.LazyLinear(3))
    hook = hook_of(run_dir, net)
    net(X).sum().backward()
    values = saved(hook)[0]
    assert values["Sequential_0.weight"].shape == (3, 2)
    assert np.array_equal(values["gradient/Sequential_0.weight"], net[0].weight.grad.numpy())


def replaced_by_assignment(net):
    net[0].weight = nn.Parameter(torch.zeros(1, 2))


def replaced_by_a_state(net):
    net.load_state_dict({"0.weight": torch.zeros(1, 2), "0.bias": torch.zeros(1)}, assign=True)


@pytest.mark.parametrize(
    "replace",
    [
        replaced_by_assignment,
        pytest.param(replaced_by_a_state, marks=pytest.mark.requires("torch>=2.1")),
    ],
)
def test_a_replaced_parameter_is_watched_again_with_one_warning(replace, run_dir, saved, caplog):
    net = nn.Sequential(nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    net(X).sum().backward()
    with caplog.at_level(logging.WARNING, logger="cupel"):
        replace(net)
        for _ in range(2):
            net(X).sum().backward()
    steps = saved(hook)
    assert steps[1]["Sequential_0.weight"].tolist() == [[0, 0]]
    assert "gradient/Sequential_0.weight" in steps[1]
    assert len([r for r in caplog.records if "replaced" in r.getMessage()]) == 1


def test_parameters_added_behind_registration_are_reported_by_name(run_dir):
    net = nn.Sequential(nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    net[0].register_parameter("adapter", nn.Parameter(torch.ones(2)))
    net(X)
    net(X)
    problems = hook.close().problems
    assert len(problems) == 1 and "Sequential_0.adapter" in problems[0]


def test_parametrizations_are_named_by_their_originals(run_dir, saved):
    net = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    net(X)
    assert "ParametrizedLinear_parametrizations.weight.original" in saved(hook)[0]


@pytest.mark.requires("torch>=2.1")
def test_a_weight_norm_has_two_originals(run_dir, saved):
    net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    net(X).sum().backward()
    prefix = "ParametrizedLinear_parametrizations.weight.original"
    assert {prefix + "0", prefix + "1", "gradient/" + prefix + "0"} <= set(saved(hook)[0])


def test_a_projection_that_is_never_called_as_a_module_has_no_outputs(run_dir, saved):
    net = nn.Sequential(nn.MultiheadAttention(4, 2))
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    x = torch.ones(1, 1, 4)
    net[0](x, x, x)
    hook.next_step()
    net[0](x, x, x)
    values = saved(hook)[0]
    assert "Sequential_0.out_proj.weight" in values and "0_output_0" in values
    assert "0.out_proj_output_0" not in values


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_parameters_of_any_layout_have_row_major_values(run_dir, saved, layout):
    net = nn.Conv2d(2, 3, 2).to(memory_format=layout)
    hook = hook_of(run_dir, net)
    net(torch.ones(1, 2, 4, 4))
    expected = net.weight.detach().contiguous().numpy()
    assert saved(hook)[0]["Conv2d_weight"].tobytes() == expected.tobytes()


def test_complex_parameters_are_saved_as_pairs(run_dir, saved):
    class Turn(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1 + 2j, 3 - 4j]))

        def forward(self, x):
            return x * self.weight

    net = Turn()
    hook = hook_of(run_dir, net)
    net(X)
    assert saved(hook)[0]["Turn_weight"].tolist() == [[1, 2], [3, -4]]


def test_a_replaced_parameter_is_freed_at_once(run_dir):
    net = nn.Sequential(nn.Linear(2, 1))
    hook = hook_of(run_dir, net)
    net(X)
    before = weakref.ref(net[0].weight)
    replaced_by_assignment(net)
    gc.collect()
    assert before() is None
    hook.close()


def test_the_value_of_a_frozen_parameter_is_saved_without_a_gradient(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    net[0].requires_grad_(False)
    hook = hook_of(run_dir, net)
    net(X).sum().backward()
    values = saved(hook)[0]
    assert np.array_equal(values["Sequential_0.weight"], net[0].weight.numpy())
    assert "gradient/Sequential_0.weight" not in values
    assert "gradient/Sequential_1.weight" in values


def test_a_model_from_the_device_meta_is_watched_once_it_has_values(run_dir, saved):
    net = nn.Sequential(nn.Linear(2, 1, device="meta"))
    hook = hook_of(run_dir, net)
    net.to_empty(device="cpu")
    nn.init.ones_(net[0].weight)
    nn.init.zeros_(net[0].bias)
    net(X).sum().backward()
    values = saved(hook)[0]
    assert values["Sequential_0.weight"].tolist() == [[1, 1]]
    assert values["gradient/Sequential_0.weight"].tolist() == [[1, 1]]
