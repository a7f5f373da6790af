"""A script in the words of the SDK that scripts are ported from: only its import has changed."""

from __future__ import annotations

import json

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import cupel.pytorch as smd


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(functional.relu(self.fc1(x)))


def train(model, criterion, hook, optimizer, epochs):
    for _ in range(epochs):
        hook.set_mode(smd.modes.TRAIN)
        model.train()
        for _ in range(4):
            optimizer.zero_grad()
            loss = criterion(model(torch.randn(5, 6)), torch.randint(3, (5,)))
            loss.backward()
            optimizer.step()
        hook.set_mode(smd.modes.EVAL)
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                loss = criterion(model(torch.randn(5, 6)), torch.randint(3, (5,)))
        hook.save_scalar("eval_loss", loss.item())


def test_a_script_runs_with_its_import_changed(run_dir, tmp_path):
    configuration = {
        "LocalPath": run_dir,
        "HookParameters": {"save_interval": "2", "include_workers": "one"},
        "CollectionConfigurations": [
            {"CollectionName": "weights"},
            {"CollectionName": "gradients", "CollectionParameters": {"save_interval": "4"}},
            {
                "CollectionName": "relu_in",
                "CollectionParameters": {"include_regex": "fc1_output", "reductions": "mean,max"},
            },
        ],
    }
    path = tmp_path / "debughookconfig.json"
    path.write_text(json.dumps(configuration))

    hook = smd.Hook.create_from_json_file(json_file_path=str(path))
    model, criterion = Net(), nn.CrossEntropyLoss()
    hook.register_module(model)
    hook.register_loss(criterion)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, criterion, hook, optimizer, epochs=2)
    hook.close()

    trial = smd.create_trial(run_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2, 4, 6]
    assert "gradient/Net_fc1.weight" in trial.tensor_names(collection="gradients")
    gradient = trial.tensor("gradient/Net_fc1.weight")
    assert gradient.steps(mode=smd.modes.TRAIN) == [0, 4]
    assert gradient.value(4, mode=smd.modes.TRAIN).shape == (8, 6)
    weight = trial.tensor("Net_fc1.weight").value(2, mode=smd.modes.TRAIN)
    assert np.isfinite(trial.tensor("fc1_output_0").reduction_value(2, "mean", smd.modes.TRAIN))
    assert trial.tensor("Net_fc1.weight").reduction_value(
        2, "mean", mode=smd.modes.TRAIN, abs=True
    ) == np.float64(np.abs(weight.astype(np.float64)).mean())
    losses = trial.tensor_names(regex="CrossEntropyLoss_output_0")
    assert losses == ["CrossEntropyLoss_output_0"]
    assert "scalar/eval_loss" in trial.tensor_names(mode=smd.modes.EVAL)
