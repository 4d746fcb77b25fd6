"""Whether copies learn from standardized data what they do not learn from data as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import ScaleCompared

if TYPE_CHECKING:
    from collections.abc import Callable

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
x = {x}
y = {y}
model = {model}
optimizer = torch.optim.{optimizer}
for start in range(0, 256, 32):
    inputs, targets = x[start:start + 32], y[start:start + 32]
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    {between}
    optimizer.step()
"""
USUAL = {
    "x": "torch.randn(256, 3)",
    "y": "4_000 + 900 * x[:, :1]",
    "model": "nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))",
    "optimizer": "Adam(model.parameters(), lr=1e-3)",
    "loss": "nn.functional.mse_loss(model(inputs), targets)",
    "between": "",
}


def compared(seen: Callable[..., list[Any]], **changes: str) -> list[Any]:
    return seen(TRAIN.format(**{**USUAL, **changes}), ScaleCompared, "data_scale")


def test_targets_of_a_large_scale(seen: Callable[..., list[Any]]) -> None:
    (event,) = compared(seen)
    assert (event.what, event.seeds, event.name, event.site.row) == ("targets", 3, "model", 11)
    assert 3_900 < event.targets[0] < 4_300
    assert event.best > 1 > event.end
    assert event.longer == 8 * event.steps
    assert len(event.raw) == 100
    assert len(event.standardized) == 100


def test_inputs_of_which_one_column_hides_the_others(seen: Callable[..., list[Any]]) -> None:
    changes = {"x": "torch.stack([torch.randn(256), 30_000 + 9_000 * torch.randn(256)], 1)", "y": "x[:, :1]"}
    model = USUAL["model"].replace("(3", "(2")
    (event,) = compared(seen, **changes, model=model, optimizer="SGD(model.parameters(), lr=0.05)")
    assert (event.what, event.seeds) == ("inputs", 3)
    assert [int(each) for each in event.inputs[1:3]] == [1, 2]
    assert event.targets[0] < 2


def test_a_gradient_that_is_clipped_is_clipped_in_the_copy(seen: Callable[..., list[Any]]) -> None:
    (event,) = compared(seen, between="nn.utils.clip_grad_norm_(model.parameters(), 1.0)")
    assert event.seeds == 3


@pytest.mark.parametrize(
    "loss",
    [
        "((model(inputs) - targets) ** 2).mean()",
        "(model(inputs) - targets).abs().mean()",
        "(model(inputs).squeeze(1) - targets[:, 0]).square().mean().sqrt()",
        "nn.functional.mse_loss(model(inputs), targets).sqrt()",
        "nn.MSELoss()(model(inputs).view(-1), targets.view(-1))",
    ],
)
def test_losses_that_the_script_writes_are_repeated(seen: Callable[..., list[Any]], loss: str) -> None:
    (event,) = compared(seen, loss=loss)
    assert (event.what, event.seeds) == ("targets", 3)


def test_what_is_learnt_anyway_is_told_without_agreement(seen: Callable[..., list[Any]]) -> None:
    (event,) = compared(seen, y="120 + 20 * x[:, :1]", optimizer="Adam(model.parameters(), lr=0.1)")
    assert event.seeds == 0
    assert event.best < 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {"y": "x[:, :1]"},
        {"y": "40 + 9 * x[:, :1]"},
        {"loss": "((model(inputs) - targets) ** 2 * torch.rand_like(targets)).mean()"},
        {"loss": "nn.functional.mse_loss(1_000 * model(inputs), targets)"},
        {"loss": "nn.functional.mse_loss(model(inputs), targets) + 1e4 * model[0].weight.square().sum()"},
        {"loss": "nn.functional.mse_loss(model(inputs), targets) + nn.functional.l1_loss(model(inputs), targets)"},
        {"between": "[each.grad.mul_(0.01) for each in model.parameters()]"},
        {"between": "nn.utils.clip_grad_value_(model.parameters(), 0.1)"},
        {"optimizer": "LBFGS(model.parameters())", "between": "continue"},
    ],
    ids=[
        *("standardized", "moderate", "weighted", "computed", "penalty", "two losses", "gradients changed", "values"),
        "no step",
    ],
)
def test_what_a_copy_cannot_repeat_is_not_asked(seen: Callable[..., list[Any]], changes: dict[str, str]) -> None:
    assert compared(seen, **changes) == []


LARGE = """
import random
import torch
from torch import nn
torch.manual_seed(0)
random.seed(0)
calls = 0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 1)

    def forward(self, x):
        global calls
        calls += 1
        print("called", calls, random.random())
        return self.last(self.drop(self.norm(self.first(x)).relu()))


x = 5_000 + 900 * torch.randn(256, 4)
y = 30_000 + 5 * x[:, :1]
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
for start in range(0, 256, 32):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[start:start + 32]), y[start:start + 32])
    loss.backward()
    optimizer.step()
    schedule.step()
    print(loss.item(), random.random(), torch.rand(1).item())
print(optimizer.param_groups[0]["lr"], sorted(optimizer.state[model.last.weight]), calls)
print(sum(each.double().sum().item() for each in model.state_dict().values()))
"""


def test_the_script_computes_what_it_computes_without_the_question(
    observe: Callable[..., Any], seen: Callable[..., list[Any]]
) -> None:
    plain = observe(LARGE).output
    assert "called 6 " in plain
    assert observe(LARGE, "data_scale").output == plain
    assert [event.what for event in seen(LARGE, ScaleCompared, "data_scale")] == ["targets"]
