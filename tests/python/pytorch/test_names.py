"""The names, dtypes and values of everything that a hook sees by itself."""

from __future__ import annotations

from every_step import every_step
import numpy as np
import pytest
import torch
from torch import nn

import cupel.pytorch as smd

EXPECTED = {
    "Net_conv1.weight": ("float32", (2, 1, 3, 3)),
    "gradient/Net_conv1.weight": ("float32", (2, 1, 3, 3)),
    "Net_conv1.bias": ("float32", (2,)),
    "gradient/Net_conv1.bias": ("float32", (2,)),
    "Net_body.2.weight": ("float32", (5, 72)),
    "gradient/Net_body.2.weight": ("float32", (5, 72)),
    "Net_body.2.bias": ("float32", (5,)),
    "gradient/Net_body.2.bias": ("float32", (5,)),
    "Net_bn.weight": ("float32", (5,)),
    "gradient/Net_bn.weight": ("float32", (5,)),
    "Net_bn.bias": ("float32", (5,)),
    "gradient/Net_bn.bias": ("float32", (5,)),
    "Net_input_0": ("float32", (4, 1, 8, 8)),
    "conv1_input_0": ("float32", (4, 1, 8, 8)),
    "Net_output_0": ("float32", (4, 5)),
    "bn_output_0": ("float32", (4, 5)),
    "conv1_output_0": ("float32", (4, 2, 6, 6)),
    "body_input_0": ("float32", (4, 2, 6, 6)),
    "body.0_input_0": ("float32", (4, 2, 6, 6)),
    "body.0_output_0": ("float32", (4, 2, 6, 6)),
    "body.1_input_0": ("float32", (4, 2, 6, 6)),
    "body.1_output_0": ("float32", (4, 72)),
    "body.2_input_0": ("float32", (4, 72)),
    "body.2_output_0": ("float32", (4, 5)),
    "body_output_0": ("float32", (4, 5)),
    "bn_input_0": ("float32", (4, 5)),
    "CrossEntropyLoss_input_0": ("float32", (4, 5)),
    "CrossEntropyLoss_input_1": ("int64", (4,)),
    "CrossEntropyLoss_output_0": ("float32", ()),
}


def train_once(hook, net, batch):
    criterion = nn.CrossEntropyLoss()
    hook.register_module(net)
    hook.register_loss(criterion)
    loss = criterion(net(batch[0]), batch[1])
    loss.backward()
    return loss


def test_one_training_step_saves_the_twenty_nine_tensors_of_the_network(net, batch, run_dir, saved):
    hook = every_step(run_dir, save_all=True)
    train_once(hook, net, batch)
    values = saved(hook)[0]
    assert {n: (str(v.dtype), v.shape) for n, v in values.items()} == EXPECTED


def test_saved_values_are_those_of_torch_byte_by_byte(net, batch, run_dir, saved):
    seen = {}

    def keep(name):
        return lambda module, args, output: seen.update({name: output.detach().clone()})

    for name in ("conv1", "body.0", "body.1", "body.2", "body", "bn"):
        net.get_submodule(name).register_forward_hook(keep(name))
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    hook = every_step(run_dir, save_all=True)
    loss = train_once(hook, net, batch)
    values = saved(hook)[0]
    for name, output in seen.items():
        assert values[f"{name}_output_0"].tobytes() == output.numpy().tobytes()
    for name, parameter in net.named_parameters():
        assert values[f"Net_{name}"].tobytes() == before[name].numpy().tobytes()
        assert values[f"gradient/Net_{name}"].tobytes() == parameter.grad.numpy().tobytes()
    assert values["CrossEntropyLoss_output_0"].tobytes() == loss.detach().numpy().tobytes()
    assert values["Net_input_0"].tobytes() == batch[0].numpy().tobytes()
    assert np.array_equal(values["CrossEntropyLoss_input_1"], batch[1].numpy())


def test_the_default_configuration_saves_only_the_value_of_the_loss(net, batch, run_dir, saved):
    hook = smd.Hook(run_dir)
    train_once(hook, net, batch)
    steps = saved(hook)
    assert {step: list(values) for step, values in steps.items()} == {
        0: ["CrossEntropyLoss_output_0"]
    }


def test_training_with_a_hook_ends_with_the_same_bits(batch, run_dir):
    def trained(watch):
        torch.manual_seed(3)
        net = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(inplace=True), nn.Linear(8, 5))
        optimizer = torch.optim.Adam(net.parameters())
        criterion = nn.CrossEntropyLoss()
        watch(net, criterion)
        for _ in range(5):
            optimizer.zero_grad()
            criterion(net(batch[0]), batch[1]).backward()
            optimizer.step()
        return b"".join(p.detach().numpy().tobytes() for p in net.parameters())

    hook = every_step(run_dir, save_all=True)

    def watch(net, criterion):
        hook.register_module(net)
        hook.register_loss(criterion)

    assert trained(watch) == trained(lambda net, criterion: None)
    hook.close()


def test_a_name_given_at_registration_stands_for_the_class(net, batch, run_dir, saved):
    hook = every_step(run_dir, include_collections=["weights"])
    hook.register_module(net, name="student")
    net(batch[0])
    assert "student_conv1.weight" in saved(hook)[0]


def test_parameters_are_taken_when_the_step_begins_before_the_update(net, batch, run_dir, saved):
    hook = every_step(run_dir, include_collections=["weights"])
    hook.register_module(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = []
    for _ in range(2):
        before.append(net.conv1.weight.detach().clone().numpy())
        net(batch[0]).sum().backward()
        optimizer.step()
    steps = saved(hook)
    assert not np.array_equal(before[0], before[1])
    for step in (0, 1):
        assert np.array_equal(steps[step]["Net_conv1.weight"], before[step])


def test_an_input_changed_in_place_is_saved_as_it_is_behind_the_forward(run_dir, saved):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True))
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    with torch.no_grad():
        output = net(torch.tensor([[1.0, -1.0, 2.0]]))
    values = saved(hook)[0]
    assert np.array_equal(values["1_input_0"], output.numpy())


def test_a_matrix_whose_name_says_nothing_is_a_weight(run_dir, saved):
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_up_proj = nn.Parameter(torch.ones(2, 3))
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.scale + self.gate_up_proj.sum()

    hook = every_step(run_dir, include_collections=["weights"])
    experts = Experts()
    hook.register_module(experts)
    experts(torch.ones(3))
    assert set(saved(hook)[0]) == {"Experts_gate_up_proj"}


def test_buffers_are_never_saved(net, batch, run_dir, saved):
    hook = every_step(run_dir, save_all=True)
    hook.register_module(net)
    net(batch[0])
    assert not [name for name in saved(hook)[0] if "running" in name or "num_batches" in name]


def test_a_recorded_tensor_is_an_output_that_counts_its_calls(net, batch, run_dir, saved):
    hook = every_step(run_dir)
    hook.register_module(net)
    net(batch[0])
    hook.record_tensor_value("kl_loss", torch.tensor(1.5))
    hook.record_tensor_value("kl_loss", torch.tensor(2.5))
    hook.record_tensor_value("other", torch.tensor(3.5))
    values = saved(hook)[0]
    assert {name: float(v) for name, v in values.items()} == {
        "kl_loss_output_0": 1.5,
        "kl_loss_output_1": 2.5,
    }


def test_a_scalar_is_saved_as_one_number_at_every_call(net, batch, run_dir, saved):
    hook = every_step(run_dir, save_config=smd.SaveConfig(save_interval=10))
    hook.register_module(net)
    for step in range(3):
        net(batch[0])
        hook.save_scalar("val_loss", step + 0.5)
    steps = saved(hook)
    assert {step: v["scalar/val_loss"].tolist() for step, v in steps.items()} == {
        0: [0.5],
        1: [1.5],
        2: [2.5],
    }
    assert steps[0]["scalar/val_loss"].dtype == np.float64


def test_a_tensor_saved_by_name_is_saved_where_anything_is_due(net, batch, run_dir, saved):
    hook = every_step(run_dir, save_config=smd.SaveConfig(save_interval=2))
    hook.register_module(net)
    for step in range(3):
        net(batch[0])
        hook.save_tensor("mine", torch.full((2,), float(step)), "never_seen_before")
    steps = saved(hook)
    assert {step: v["mine"].tolist() for step, v in steps.items()} == {0: [0, 0], 2: [2, 2]}


def test_a_tensor_saved_before_the_first_step_is_in_step_zero(net, batch, run_dir, saved):
    hook = every_step(run_dir)
    hook.register_module(net)
    hook.save_tensor("early", torch.ones(2))
    net(batch[0])
    assert saved(hook)[0]["early"].tolist() == [1, 1]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_value_of_a_loss_has_no_dimension(run_dir, saved, reduction):
    criterion = nn.MSELoss(reduction=reduction)
    net = nn.Linear(2, 1)
    hook = every_step(run_dir)
    hook.register_module(net)
    hook.register_loss(criterion)
    criterion(net(torch.ones(3, 2)), torch.zeros(3, 1))
    assert saved(hook)[0]["MSELoss_output_0"].shape == ()
