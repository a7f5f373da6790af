"""What tests of the PyTorch hook share: one small network, and a run read back."""

from __future__ import annotations

import pytest
import torch
from torch import nn

torch.set_num_threads(1)


class Net(nn.Module):
    """A convolution, a body of three layers and a norm: each kind of name once."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3)
        self.body = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(72, 5))
        self.bn = nn.BatchNorm1d(5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(self.body(self.conv1(x)))


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    torch.manual_seed(7)


@pytest.fixture
def net() -> Net:
    return Net()


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 2, 3])


@pytest.fixture
def saved(read_back, run_dir):
    """Returns a function that closes a hook and gives the values by step and name."""

    def close_and_read(hook, **mode):
        report = hook.close()
        assert report is None or report.problems == []
        return read_back(run_dir, **mode)

    return close_and_read
