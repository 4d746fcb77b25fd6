"""The first value that is not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import NonFinite

if TYPE_CHECKING:
    from collections.abc import Callable

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
    def forward(self, x):
        y = self.layer(x)
        return {forward}
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr={rate})
{before}
for step in range(6):
    x = {batch}
    output = model(x)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ORDINARY = {
    "forward": "y",
    "rate": "0.1",
    "before": "",
    "batch": "torch.randn(8, 4)",
    "loss": "nn.functional.mse_loss(output, torch.zeros(8, 1))",
}


@pytest.fixture
def found(seen: Callable[..., list[Any]]) -> Callable[..., list[tuple[str, str, int]]]:
    def run(**parts: str) -> list[tuple[str, str, int]]:
        events = seen(TRAIN.format(**{**ORDINARY, **parts}), NonFinite, "finite")
        return [(event.what, event.value, event.site.row) for event in events]

    return run


@pytest.mark.parametrize(
    ("parts", "where"),
    [
        ({"forward": "(y - 100).log()"}, ("activation", "nan", 11)),
        ({"batch": "torch.randn(8, 4) / torch.zeros(8, 4)"}, ("batch", "nan", 17)),
        ({"loss": "(output.square() * 0).log().mean()"}, ("loss", "inf", 20)),
        ({"loss": "(output * 0).square().sum().sqrt()"}, ("gradient", "nan", 20)),
        ({"before": "nn.init.constant_(model.layer.bias, float('nan'))"}, ("parameter", "nan", 17)),
    ],
    ids=["activation", "batch", "loss", "gradient", "parameter"],
)
def test_the_first_is_told_where_it_is_made(
    found: Callable[..., list[tuple[str, str, int]]], parts: dict[str, str], where: tuple[str, str, int]
) -> None:
    assert found(**parts) == [where]


def test_a_loss_that_grows_beyond_all_bounds_is_told_once(found: Callable[..., list[tuple[str, str, int]]]) -> None:
    (only,) = found(rate="1e30")
    assert only[1] in {"inf", "nan"}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"forward": "torch.cat([y, y.detach() * -float('inf')], dim=1)[:, :1]"},
        {"before": "best = torch.tensor(float('inf'))"},
    ],
    ids=["nothing", "masked", "something to compare with"],
)
def test_what_is_finite_or_does_no_harm_is_not_told(
    found: Callable[..., list[tuple[str, str, int]]], parts: dict[str, str]
) -> None:
    assert found(**parts) == []
