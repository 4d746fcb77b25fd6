"""A batch that is evaluated twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import Reevaluated

if TYPE_CHECKING:
    from collections.abc import Callable

EVALUATE = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls = nn.Linear(4, 1), 0
        self.dropout = nn.Dropout(0.5)
    def forward(self, x):
        self.calls += 1
        return {forward}
model = Net()
model.{mode}()
with torch.no_grad():
    answer = model(torch.randn(8, 4))
print(answer.sum().item())
"""


KEEPS = """
import torch
from torch import nn
class Keeper:
    def __init__(self):
        self.kept = {"outputs": [{"last": []}]}
    def keep(self, module, inputs, output):
        self.kept["outputs"][0]["last"] = [{"deep": (output,)}]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.kept = nn.Linear(4, 1), {"outputs": [{"last": [{"hidden": None}]}]}
        self.layer.register_forward_hook(Keeper().keep)
    def forward(self, x):
        hidden = self.layer(x)
        self.kept["outputs"][0]["last"][0]["hidden"] = {"z": [hidden]}
        return hidden
model = Net()
model(torch.randn(8, 4)).sum().backward()
model.eval()
with torch.no_grad():
    print(model(torch.randn(8, 4)).sum().item())
"""


def test_a_model_that_keeps_tensors_with_graphs_deep_inside_is_copied(seen: Callable[..., list[Any]]) -> None:
    (event,) = seen(KEEPS, Reevaluated, "repeat")
    assert event.because == ""


@pytest.mark.parametrize(
    ("forward", "mode", "because"),
    [
        ("self.layer(self.dropout(x))", "eval", ""),
        ("self.layer(self.dropout(x))", "train", "mode"),
        ("self.layer(F.dropout(x))", "eval", "dropout"),
        ("self.layer(F.dropout(x, training=self.training))", "eval", ""),
        ("self.layer(F.dropout(x, training=True))", "eval", "noise"),
        ("self.layer(x + torch.randn_like(x))", "eval", "disturbance"),
        ("self.layer(x) + torch.rand(1)", "eval", "disturbance"),
        ("self.layer(x * torch.randn_like(x))", "eval", "noise"),
    ],
)
def test_it_is_told_what_made_the_difference(
    seen: Callable[..., list[Any]], forward: str, mode: str, because: str
) -> None:
    (again,) = seen(EVALUATE.format(forward=forward, mode=mode), Reevaluated, "repeat")
    assert again.because == because
    assert (again.difference > 0) == bool(because)


def test_the_answers_are_told_where_they_differ_though_their_means_are_the_same(seen: Callable[..., list[Any]]) -> None:
    script = EVALUATE.format(forward="self.layer(self.dropout(x)).softmax(1)", mode="train").replace("(4, 1)", "(4, 3)")
    (again,) = seen(script, Reevaluated, "repeat")
    assert again.first != again.second
    assert again.difference == pytest.approx(abs(again.second - again.first))


def test_training_is_not_repeated(seen: Callable[..., list[Any]]) -> None:
    script = EVALUATE.format(forward="self.layer(x)", mode="train").replace("no_grad", "enable_grad")
    assert seen(script, Reevaluated, "repeat") == []
