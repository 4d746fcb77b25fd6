"""How large gradients are, all together and in a model's first layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.probe import Outcome

TRAIN = """
import torch
from torch import nn
model = nn.Sequential({layers})
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
{before}
for step in range(3):
    optimizer.zero_grad()
    (model(torch.ones(1, 1)) * 3.0).sum().backward()
    optimizer.step()
"""
RATIO = "gradient norm of the first layers by the last's"


def measured(observe: Callable[..., Outcome], claim: str, layers: str, before: str = "") -> list[float]:
    """What the run says of a claim."""
    trace = observe(TRAIN.format(layers=layers, before=before), "norms").trace
    assert trace is not None
    assert trace.run is not None
    return [float(each.value) for each in trace.run.measurements(claim)]


def test_the_norm_of_all_gradients_is_measured_in_every_pass(observe: Callable[..., Outcome]) -> None:
    assert measured(observe, "gradient norm", "nn.Linear(1, 1, bias=False)") == [3.0, 3.0, 3.0]


def test_of_a_deep_model_the_first_layers_are_measured_beside_the_last(observe: Callable[..., Outcome]) -> None:
    layers = ", ".join(["nn.Linear(1, 1, bias=False)"] * 4)
    before = "for number, layer in enumerate(model):\n    nn.init.constant_(layer.weight, 0.5 if number < 3 else 0.001)"
    (ratio, *_) = measured(observe, RATIO, layers, before)
    assert ratio == pytest.approx(0.5**2 * 0.001 / 0.5**3, rel=1e-4)


def test_of_three_layers_nothing_is_said(observe: Callable[..., Outcome]) -> None:
    assert measured(observe, RATIO, ", ".join(["nn.Linear(1, 1, bias=False)"] * 3)) == []


def test_gradients_of_zero_have_not_vanished(observe: Callable[..., Outcome]) -> None:
    layers = ", ".join(["nn.Linear(1, 1, bias=False)"] * 4)
    assert set(measured(observe, RATIO, layers, "nn.init.zeros_(model[2].weight)")) == {1.0}
