"""Inputs and outputs that are no single tensors."""

from __future__ import annotations

import collections
import dataclasses

from every_step import every_step
import numpy as np
import pytest
import torch
from torch import nn

X = torch.ones(2, 3)


class Returns(nn.Module):
    """A module that returns what a function makes of its input."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, *args, **kwargs):
        return self.function(x)


@pytest.fixture
def values_of(run_dir, saved):
    """Returns a function that watches one forward of a module and gives what was saved."""

    def forward(module, *args, **kwargs):
        hook = every_step(run_dir, save_all=True)
        hook.register_module(module)
        module(*args, **kwargs)
        return saved(hook)[0]

    return forward


def test_a_module_called_twice_goes_on_counting(values_of):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        def forward(self, x):
            return self.relu(self.relu(x - 2) + 1)

    values = values_of(Twice(), X)
    assert values["relu_output_0"].tolist() == [[0] * 3] * 2
    assert values["relu_output_1"].tolist() == [[1] * 3] * 2


def test_numbers_begin_at_zero_in_every_step(run_dir, saved):
    net = nn.Sequential(nn.ReLU())
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(X)
    net(X)
    assert [set(values) for values in saved(hook).values()] == 2 * [
        {"0_input_0", "0_output_0", "Sequential_input_0", "Sequential_output_0"}
    ]


def test_two_loss_modules_of_one_class_count_on(run_dir, saved):
    net = nn.Linear(3, 1)
    hook = every_step(run_dir)
    hook.register_module(net)
    losses = [nn.MSELoss(), nn.MSELoss()]
    for loss in losses:
        hook.register_loss(loss)
    output = net(X)
    for loss in losses:
        loss(output, torch.zeros(2, 1))
    assert set(saved(hook)[0]) == {"MSELoss_output_0", "MSELoss_output_1"}


def test_tensors_of_nested_tuples_are_numbered_in_order(values_of):
    lstm = nn.Sequential(collections.OrderedDict(lstm=nn.LSTM(3, 2)))
    with torch.no_grad():
        output, (h, c) = lstm.lstm(X)
        values = values_of(lstm, X)
    for number, tensor in enumerate((output, h, c)):
        assert np.array_equal(values[f"lstm_output_{number}"], tensor.numpy())


def test_values_of_a_mapping_are_named_by_their_keys(values_of):
    net = Returns(lambda x: {"logits": x + 1, "hidden_states": (x, x + 2), "past": None})
    values = values_of(net, X)
    assert set(values) == {
        "Returns_input_0",
        "Returns_output_logits",
        "Returns_output_hidden_states_0",
        "Returns_output_hidden_states_1",
    }
    assert values["Returns_output_hidden_states_1"].tolist() == [[3] * 3] * 2


def test_the_key_loss_of_the_output_of_a_root_is_saved_by_default(run_dir, saved):
    net = Returns(lambda x: collections.OrderedDict(loss=x.sum(), logits=x))
    hook = every_step(run_dir)
    hook.register_module(net)
    net(X)
    assert {name: float(v) for name, v in saved(hook)[0].items()} == {"Returns_output_loss": 6.0}


def test_fields_of_a_dataclass_are_named_as_those_of_a_mapping(values_of):
    @dataclasses.dataclass
    class Output:
        logits: torch.Tensor
        states: tuple

    values = values_of(Returns(lambda x: Output(x, (x, x))), X)
    assert {"Returns_output_logits", "Returns_output_states_1"} <= set(values)


def test_what_is_no_tensor_takes_no_number(values_of):
    net = Returns(lambda x: (None, 3, "text", x))
    values = values_of(net, X, None, 7)
    assert set(values) == {"Returns_input_0", "Returns_output_0"}


@pytest.mark.requires("torch>=2.0")
def test_keyword_arguments_are_named_by_their_keys(values_of):
    class Model(nn.Module):
        def forward(self, input_ids=None, mask=None, use_cache=False):
            return input_ids

    values = values_of(Model(), input_ids=X, mask=None, use_cache=True)
    assert set(values) == {"Model_input_input_ids", "Model_output_0"}


def test_tensors_in_an_object_of_another_class_are_reported_once_by_name(run_dir):
    class Box:
        def __init__(self, x):
            self.x = x

    net = Returns(Box)
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(X)
    net(X)
    problems = hook.close().problems
    assert [p for p in problems if "Returns" in p and "Box" in p] == problems
    assert len(problems) == 1


def test_a_cache_is_no_output(values_of):
    class DynamicCache:
        def __init__(self, x):
            self.x = x

    values = values_of(Returns(lambda x: {"logits": x, "past_key_values": DynamicCache(x)}), X)
    assert set(values) == {"Returns_input_0", "Returns_output_logits"}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int32, torch.bool])
def test_outputs_have_the_dtype_that_they_have_in_torch(values_of, dtype):
    values = values_of(Returns(lambda x: x.to(dtype)), X)
    expected = torch.float32 if dtype is torch.bfloat16 else dtype
    assert str(values["Returns_output_0"].dtype) == str(expected).replace("torch.", "")


def test_a_nested_tensor_is_saved_as_its_values(values_of):
    def nest(x):
        return torch.nested.nested_tensor([x[0], x[1, :2]])

    assert values_of(Returns(nest), X)["Returns_output_0"].tolist() == [1] * 5


def test_a_mapping_that_is_a_dataclass_too_is_named_by_its_keys(values_of):
    @dataclasses.dataclass
    class ModelOutput(collections.OrderedDict):
        logits: torch.Tensor

        def __post_init__(self):
            self["logits"] = self.logits

    class Module(nn.Module):
        def forward(self, x):
            return ModelOutput(x * 2)

    values = values_of(Module(), torch.ones(1))
    assert [name for name in values if "_output_" in name] == ["Module_output_logits"]
