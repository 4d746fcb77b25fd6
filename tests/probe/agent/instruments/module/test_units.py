"""Units that never fire, and answers that are all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.trace import OutputConstant, UnitsSeen

if TYPE_CHECKING:
    from collections.abc import Callable

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(
    nn.{layer},
    nn.ReLU(),
    nn.{head},
)
{before}
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    output = model(torch.randn(8, {shape}))
    output.square().mean().backward()
    optimizer.step()
"""
LINEAR = {"layer": "Linear(4, 10)", "head": "Linear(10, 1)", "shape": "4"}
IMAGES = {"layer": "Conv2d(3, 10, 3)", "head": "Flatten()", "shape": "3, 6, 6"}


def test_units_that_were_never_above_zero_are_counted(seen: Callable[..., list[Any]]) -> None:
    script = TRAIN.format(**LINEAR, before="with torch.no_grad(): model[0].bias[:7] = -100.0")
    (units,) = seen(script, UnitsSeen, "units")
    assert (units.units, units.dead, units.site.row) == (10, 7, 7)
    assert units.rows == 8 * units.batches
    assert units.batches >= 3


def test_the_units_of_images_are_channels(seen: Callable[..., list[Any]]) -> None:
    script = TRAIN.format(**IMAGES, before="with torch.no_grad(): model[0].bias[:4] = -100.0")
    (units,) = seen(script, UnitsSeen, "units")
    assert (units.units, units.dead) == (10, 4)


def test_a_model_that_answers_alike_to_all_is_told(seen: Callable[..., list[Any]]) -> None:
    script = TRAIN.format(**LINEAR, before="nn.init.constant_(model[0].bias, -100.0)")
    (constant,) = seen(script, OutputConstant, "units")
    assert (constant.name, constant.site.row) == ("model", 14)
    assert constant.rows == 8 * constant.batches


def test_a_model_that_answers_differently_is_not_told(seen: Callable[..., list[Any]]) -> None:
    assert seen(TRAIN.format(**LINEAR, before=""), OutputConstant, "units") == []


def test_answers_to_the_same_rows_may_be_the_same(seen: Callable[..., list[Any]]) -> None:
    script = TRAIN.format(**LINEAR, before="").replace("torch.randn(8, 4)", "torch.ones(8, 4)")
    assert seen(script, OutputConstant, "units") == []
