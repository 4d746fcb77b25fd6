"""Norms over the rows of a batch, which count where a loss compares their rows with labels."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
class Norm(nn.Module):
    def forward(self, x):
        return x / x.norm(dim=0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm, self.scale = nn.Linear(4, 3), Norm(), nn.Parameter(torch.ones(3))
    def spread(self, x):
        return torch.sqrt(torch.var(x, 0) + 1e-5)
    def forward(self, x):
        x = self.layer(x)
        {body}
net = Net()
for x, y in DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(0, 3, (32,))), batch_size=8):
    {loss}.backward()
"""
LOSS = "nn.functional.cross_entropy(net(x), y)"


@pytest.mark.parametrize(
    "body",
    [
        "return x - x.mean(0)",
        "return (x - x.mean(dim=0, keepdim=True)) / (x.std(0) + 1e-5) * self.scale",
        "return (x - torch.mean(x, 0)) / self.spread(x)",
        "return self.norm(x)",
        "return nn.functional.normalize(x, p=2, dim=0).relu()",
        "mean = x.mean(0); y = x - mean; return self.scale * y",
    ],
)
def test_a_norm_over_rows(body: str) -> None:
    assert len(set(said(SCRIPT.format(body=body, loss=LOSS), "mixes the samples"))) == 1


@pytest.mark.parametrize(
    ("body", "loss"),
    [
        ("return x - x.mean(1, keepdim=True)", LOSS),
        ("return x - x.mean()", LOSS),
        ("return nn.functional.normalize(x)", LOSS),
        ("self.penalty = (x - x.mean(0)).pow(2).sum(); return x", LOSS),
        ("return x - x.mean(0) if self.training else x", LOSS),
        ("return x - x.mean(0)", "nn.functional.cross_entropy(net(x) @ net(x).T, torch.arange(8))"),
        ("return x - x.mean(0)", "net(x).pow(2).mean()"),
        ("return x", "nn.functional.cross_entropy(net(x) - net(x).mean(0), y)"),
    ],
)
def test_what_is_none_or_may_compare_rows(body: str, loss: str) -> None:
    assert not said(SCRIPT.format(body=body, loss=loss), "mixes the samples")
