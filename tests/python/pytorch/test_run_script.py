"""python -m cupel.pytorch runs a script that knows nothing of cupel."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import cupel.pytorch as smd

SCRIPT = """
import sys
import torch
from torch import nn
import helper
torch.manual_seed(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
    def forward(self, x):
        return self.fc(x)
def main():
    teacher = nn.Linear(3, 3)
    for p in teacher.parameters():
        p.requires_grad_(False)
    net, criterion = Net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(helper.STEPS):
        optimizer.zero_grad()
        criterion(net(teacher(torch.ones(2, 3))), torch.tensor([0, 1])).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        criterion(net(torch.ones(2, 3)), torch.tensor([0, 1]))
    print(sys.argv[1:], __file__)
    sys.exit(int(sys.argv[1]))
if __name__ == "__main__":
    main()
"""


@pytest.fixture
def package_path():
    """The first place of imports of the interpreter, where the path is safe."""
    command = [sys.executable, "-P", "-c", "import sys; print(sys.path[0])"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def script(tmp_path):
    (tmp_path / "helper.py").write_text("STEPS = 3\n")
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return str(path)


@pytest.fixture
def run(run_dir, tmp_path):
    """Returns a function that runs a script under a hook of a configuration."""
    configuration = tmp_path / "hook.json"
    configuration.write_text(
        json.dumps(
            {
                "LocalPath": run_dir,
                "HookParameters": {"save_interval": "1"},
                "CollectionConfigurations": [
                    {"CollectionName": "weights"},
                    {"CollectionName": "gradients"},
                ],
            }
        )
    )

    def start(*arguments, configuration=str(configuration)):
        environment = {**os.environ, "SMDEBUG_CONFIG_FILE_PATH": configuration}
        return subprocess.run(
            [sys.executable, "-m", "cupel.pytorch", *arguments],
            capture_output=True,
            text=True,
            env=environment,
        )

    return start


def test_a_script_is_watched_without_a_change(script, run, run_dir):
    done = run(script, "0")
    assert done.returncode == 0, done.stderr
    trial = smd.create_trial(run_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 1, 2]
    assert trial.steps(mode=smd.modes.EVAL) == [0]
    assert {
        "Net_fc.weight",
        "gradient/Net_fc.weight",
        "CrossEntropyLoss_output_0",
        "optimizer/lr_0",
    } <= set(trial.tensor_names())
    assert trial.loaded_all_steps


def test_the_script_has_its_arguments_its_path_and_its_exit_code(script, run):
    done = run(script, "3", "--flag")
    assert done.returncode == 3, done.stderr
    assert done.stdout == f"['3', '--flag'] {script}\n"


@pytest.mark.parametrize("arguments", [(), ("missing.py",)])
def test_a_missing_script_is_a_mistake_of_the_caller(run, arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage" in done.stderr or "missing.py" in done.stderr


def test_a_missing_configuration_is_a_mistake_of_the_caller(script, run):
    done = run(script, "0", configuration="/nowhere/hook.json")
    assert done.returncode == 2
    assert "/nowhere/hook.json" in done.stderr


LOSSES = """
import torch
from torch import nn
net = nn.Linear(3, 2)
def train():
    criterion = nn.MSELoss()
    criterion(net(torch.ones(2, 3)), torch.zeros(2, 2)).backward()
for _ in range(20):
    train()
"""


def test_a_loss_that_is_made_anew_at_each_step_is_saved_at_each(run, run_dir, tmp_path):
    path = tmp_path / "losses.py"
    path.write_text(LOSSES)
    done = run(str(path))
    assert done.returncode == 0, done.stderr
    trial = smd.create_trial(run_dir)
    assert len(trial.tensor("MSELoss_output_0").steps()) == 20


COMPILED = """
import torch
from torch import nn
net = torch.compile(nn.Linear(3, 2), fullgraph=True, backend="aot_eager")
for _ in range(2):
    net(torch.ones(2, 3)).sum().backward()
"""


@pytest.mark.requires("torch>=2.4")
def test_a_compiled_model_is_watched_without_a_graph_break(run, run_dir, tmp_path):
    path = tmp_path / "compiled.py"
    path.write_text(COMPILED)
    done = run(str(path))
    assert done.returncode == 0, done.stderr
    trial = smd.create_trial(run_dir)
    assert trial.tensor("gradient/Linear_weight").steps() == [0, 1]


def test_a_safe_path_stays_as_it_is(run, tmp_path, monkeypatch, package_path):
    (tmp_path / "helper.py").write_text("")
    path = tmp_path / "paths.py"
    path.write_text("import sys\nprint(sys.path[0] == sys.argv[1])\n")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    done = run(str(path), package_path)
    assert done.stdout == "True\n", done.stderr
