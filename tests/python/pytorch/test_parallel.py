# requires: torch>=2.4
"""Training on two ranks: data parallel, and parameters in shards."""

from __future__ import annotations

from every_step import every_step
import numpy as np
import pytest
import torch
from ranks import on_two_ranks
from torch import nn

import cupel.pytorch as smd
from cupel.exceptions import TensorUnavailableForStep


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.act = nn.ReLU()
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(self.act(self.fc(x)))


def batch_of(rank):
    return torch.arange(8.0).reshape(2, 4) + rank


def train(model, rank, hook, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    kept = []
    for _ in range(steps):
        optimizer.zero_grad()
        model(batch_of(rank)).sum().backward()
        kept.append({n: p.grad.detach().clone() for n, p in model.named_parameters()})
        optimizer.step()
    report = hook.close()
    assert report.problems == [], report.problems
    return kept


def own_gradient(rank):
    """The gradient that one rank computes for itself in its first step."""
    torch.manual_seed(7)
    net = Net()
    net(batch_of(rank)).sum().backward()
    return net.fc.weight.grad.numpy()


def data_parallel(rank, run, **options):
    torch.manual_seed(7)
    model = nn.parallel.DistributedDataParallel(Net())
    hook = every_step(run, save_all=True, include_workers="all", **options)
    hook.register_module(model)
    train(model, rank, hook)


def data_parallel_by_update(rank, run):
    data_parallel(rank, run, gradients="update")


def data_parallel_of_one_worker(rank, run):
    torch.manual_seed(7)
    model = nn.parallel.DistributedDataParallel(Net())
    hook = every_step(run, save_all=True)
    hook.register_module(model)
    train(model, rank, hook)
    assert hook.step == 1


def inner_module(rank, run):
    torch.manual_seed(7)
    net = Net()
    hook = every_step(run, save_all=True, include_workers="all")
    hook.register_module(net)
    train(nn.parallel.DistributedDataParallel(net), rank, hook)


def shards(rank, run):
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(7)
    net = Net()
    fully_shard(net.fc)
    fully_shard(net)
    hook = every_step(run, save_all=True, include_workers="all")
    hook.register_module(net)
    train(net, rank, hook)


def shards_behind_registration(rank, run):
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(7)
    net = Net()
    hook = every_step(run, save_all=True, include_workers="all")
    hook.register_module(net)
    fully_shard(net)
    train(net, rank, hook)


def flat_shards(rank, run, use_orig_params=True):
    from torch.distributed.fsdp import FullyShardedDataParallel

    torch.manual_seed(7)
    model = FullyShardedDataParallel(
        Net(), device_id=torch.device("cpu"), use_orig_params=use_orig_params
    )
    hook = every_step(run, save_all=True, include_workers="all")
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        model(batch_of(rank)).sum().backward()
        optimizer.step()
    assert hook.close().problems == []


def flat_parameter(rank, run):
    flat_shards(rank, run, use_orig_params=False)


@pytest.fixture(scope="module")
def trial_of(tmp_path_factory):
    """Returns a function that runs two ranks, once for each work, and opens their run."""
    runs = {}

    def run(work):
        if work not in runs:
            runs[work] = str(tmp_path_factory.mktemp(work.__name__) / "run")
            on_two_ranks(work, runs[work])
        return smd.create_trial(runs[work])

    return run


def test_a_data_parallel_model_is_named_with_its_wrapper(trial_of):
    trial = trial_of(data_parallel)
    assert sorted(trial.workers()) == ["worker_0", "worker_1"]
    names = set(trial.tensor_names(step=1))
    assert {
        "DistributedDataParallel_module.fc.weight",
        "gradient/DistributedDataParallel_module.fc.weight",
        "DistributedDataParallel_input_0",
        "DistributedDataParallel_output_0",
        "module_output_0",
        "module.fc_output_0",
    } <= names


def test_gradients_of_a_data_parallel_model_are_those_before_the_average(trial_of):
    tensor = trial_of(data_parallel).tensor("gradient/DistributedDataParallel_module.fc.weight")
    for rank in (0, 1):
        assert np.array_equal(tensor.value(0, worker=f"worker_{rank}"), own_gradient(rank))


def test_gradients_of_the_update_are_averaged_over_ranks(trial_of):
    trial = trial_of(data_parallel_by_update)
    tensor = trial.tensor("gradient/DistributedDataParallel_module.fc.weight")
    mean = (own_gradient(0) + own_gradient(1)) / 2
    for rank in (0, 1):
        assert np.allclose(tensor.value(0, worker=f"worker_{rank}"), mean)


def test_one_worker_writes_and_the_other_counts_steps(trial_of):
    trial = trial_of(data_parallel_of_one_worker)
    assert trial.workers() == ["worker_0"]
    assert trial.steps() == [0, 1]


def test_an_inner_module_that_is_wrapped_later_keeps_plain_names(trial_of):
    trial = trial_of(inner_module)
    assert {"Net_fc.weight", "gradient/Net_fc.weight", "fc_output_0"} <= set(trial.tensor_names())
    tensor = trial.tensor("gradient/Net_fc.weight")
    assert np.array_equal(tensor.value(0, worker="worker_1"), own_gradient(1))


def test_shards_have_plain_names_and_each_worker_has_its_part(trial_of):
    trial = trial_of(shards)
    assert "fc_output_0" in trial.tensor_names()
    torch.manual_seed(7)
    for name, whole in Net().named_parameters():
        value = trial.tensor(f"Net_{name}")
        parts = [value.value(0, worker=f"worker_{rank}") for rank in (0, 1)]
        assert np.array_equal(np.concatenate(parts), whole.detach().numpy())


@pytest.mark.parametrize("work", [shards, shards_behind_registration])
def test_gradients_of_shards_are_parts_of_the_averaged_gradient(work, trial_of):
    trial = trial_of(work)
    gradient = trial.tensor("gradient/Net_fc.weight")
    parts = [gradient.value(0, worker=f"worker_{rank}") for rank in (0, 1)]
    mean = (own_gradient(0) + own_gradient(1)) / 2
    assert np.allclose(np.concatenate(parts), mean)


def test_shards_made_behind_registration_are_seen_from_the_second_step_on(trial_of):
    value = trial_of(shards_behind_registration).tensor("Net_fc.weight")
    sizes = [value.value(1, worker=f"worker_{rank}").shape for rank in (0, 1)]
    assert sizes == [(2, 4), (1, 4)]


def test_flat_shards_have_names_without_their_wrapper(trial_of):
    trial = trial_of(flat_shards)
    names = set(trial.tensor_names())
    assert not [name for name in names if "_fsdp_wrapped_module" in name]
    weight = "FullyShardedDataParallel_fc.weight"
    assert {weight, f"gradient/{weight}"} <= names


def test_flat_shards_hold_every_element_once(trial_of):
    trial = trial_of(flat_shards)
    torch.manual_seed(7)
    for name, parameter in Net().named_parameters():
        tensor = trial.tensor(f"FullyShardedDataParallel_{name}")
        parts = []
        for worker in tensor.workers(0):
            try:
                parts.append(tensor.value(0, worker=worker).ravel())
            except TensorUnavailableForStep:
                assert 0 in tensor.shape(0, worker=worker)
        assert np.array_equal(np.concatenate(parts), parameter.detach().numpy().ravel())


def test_a_flat_parameter_and_its_gradient_are_saved_in_shards(trial_of):
    trial = trial_of(flat_parameter)
    flat = [name for name in trial.tensor_names() if name.endswith("flat_param")]
    assert sorted(flat) == [
        "FullyShardedDataParallel__flat_param",
        "gradient/FullyShardedDataParallel__flat_param",
    ]
    total = sum(p.numel() for p in Net().parameters())
    for name in flat:
        sizes = [trial.tensor(name).value(0, worker=f"worker_{rank}").size for rank in (0, 1)]
        assert total <= sum(sizes) <= total + 8
