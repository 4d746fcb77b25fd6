"""One row of a batch that is replaced by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import RowsMixed

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}
        self.register_buffer("calls", torch.zeros(()))
    def forward(self, x):
        self.calls += 1
        return {forward}
net = Net()
for (x,) in DataLoader(TensorDataset(torch.randn(24, 5, 4)), batch_size=8, shuffle=True):
    print(net({given}).sum().item(), torch.rand(1).item(), net.calls.item())
"""


def script(layer: str, forward: str, given: str = "x") -> str:
    return SCRIPT.format(layer=layer, forward=forward, given=given)


@pytest.mark.parametrize(
    ("layer", "forward", "how", "changed"),
    [
        ("nn.GRU(4, 6)", "self.layer(x)[0]", "layer", 7),
        ("nn.GRU(4, 6, batch_first=True)", "self.layer(x)[0]", "layer", 0),
        ("nn.MultiheadAttention(4, 2)", "self.layer(x, x, x)[0]", "layer", 7),
        ("nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)", "self.layer(x)", "layer", 0),
        ("nn.RNN(4, 6)", "self.layer(x.view(5, 8, 4))[0]", "view", 4),
        ("nn.RNN(4, 6, batch_first=True)", "self.layer(x)[0].reshape(8, -1)", "view", 0),
        ("nn.Linear(4, 6)", "self.layer(x) - self.layer(x).mean(0)", "norm", 7),
        ("nn.Linear(4, 6)", "(x - x.mean(dim=0)) / torch.sqrt(x.var(dim=(0,)) + 1e-5)", "norm", 7),
        ("nn.Linear(4, 6)", "nn.functional.normalize(x, dim=0)", "norm", 7),
    ],
)
def test_other_rows_change_where_they_are_mixed(
    seen: Callable[..., list[Any]], layer: str, forward: str, how: str, changed: int
) -> None:
    events = seen(script(layer, forward), RowsMixed, "mixing")
    assert [each.changed for each in events if each.how == how] == [changed]
    assert {each.rows for each in events} == {8}


def test_what_the_script_has_turned_around_is_not_looked_at(seen: Callable[..., list[Any]]) -> None:
    assert seen(script("nn.GRU(4, 6)", "self.layer(x)[0]", "x.transpose(0, 1)"), RowsMixed, "mixing") == []


@pytest.mark.parametrize(
    "forward", ["x - x.mean(1, keepdim=True) + 0 * x.sum(0).sum()", "x[0] - x[0].mean(0)", "x.std(0)"]
)
def test_norms_within_a_row_are_none_over_rows(seen: Callable[..., list[Any]], forward: str) -> None:
    assert seen(script("nn.Linear(4, 6)", forward), RowsMixed, "mixing") == []


def test_the_model_and_random_numbers_stay_as_they_are(observe: Callable[..., Any]) -> None:
    text = script("nn.GRU(4, 6)", "self.layer(x)[0]")
    assert observe(text, "mixing").output == observe(text).output
