"""What becomes of each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import ParameterSeen

if TYPE_CHECKING:
    from collections.abc import Callable

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 8),
    nn.ReLU(),
    nn.Linear(8, 2),
)
{before}
optimizer = {optimizer}
for step in range(3):
    output = model(torch.randn(16, 4))
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SGD = "torch.optim.SGD(model.parameters(), lr=0.1)"


@pytest.fixture
def fates(seen: Callable[..., list[Any]]) -> Callable[..., dict[str, ParameterSeen]]:
    def run(
        *, before: str = "", optimizer: str = SGD, loss: str = "output.square().mean()"
    ) -> dict[str, ParameterSeen]:
        script = TRAIN.format(before=before, optimizer=optimizer, loss=loss)
        return {event.name: event for event in seen(script, ParameterSeen, "parameters")}

    return run


def test_every_parameter_that_trains_is_told_once_at_its_owners_construction(
    fates: Callable[..., dict[str, ParameterSeen]],
) -> None:
    told = fates()
    assert {name: event.elements for name, event in told.items()} == {
        "0.weight": 32,
        "0.bias": 8,
        "2.weight": 16,
        "2.bias": 2,
    }
    assert [event.site.row for event in told.values()] == [6, 6, 8, 8]
    for event in told.values():
        assert (event.backwards, event.gradients, event.nonzero, event.steps, event.live_steps) == (3, 3, 3, 3, 3)
        assert event.moved


def test_a_frozen_parameter_is_not_told(fates: Callable[..., dict[str, ParameterSeen]]) -> None:
    head = "torch.optim.SGD(model[2].parameters(), lr=0.1)"
    assert list(fates(before="model[0].requires_grad_(False)", optimizer=head)) == ["2.weight", "2.bias"]


def test_what_no_gradient_reaches_is_told_so(fates: Callable[..., dict[str, ParameterSeen]]) -> None:
    told = fates(loss="model[2](model[0](torch.randn(16, 4)).detach()).square().mean()")
    assert {name: event.gradients for name, event in told.items()} == {
        "0.weight": 0,
        "0.bias": 0,
        "2.weight": 3,
        "2.bias": 3,
    }


def test_gradients_that_are_all_zero_are_told_apart(fates: Callable[..., dict[str, ParameterSeen]]) -> None:
    told = fates(before="nn.init.constant_(model[0].bias, -100.0)")
    assert (told["0.weight"].gradients, told["0.weight"].nonzero) == (3, 0)
    assert told["2.bias"].nonzero == 3


def test_a_loss_of_weight_zero_says_nothing(fates: Callable[..., dict[str, ParameterSeen]]) -> None:
    assert {event.backwards for event in fates(loss="0 * output.square().mean()").values()} == {0}


def test_what_no_optimizer_has_makes_no_steps(fates: Callable[..., dict[str, ParameterSeen]]) -> None:
    told = fates(optimizer="torch.optim.SGD(model[2].parameters(), lr=0.1)")
    assert [(event.optimizer > 0, event.steps, event.moved) for event in told.values()] == [
        (False, 0, None),  # its values were not kept: nobody was to move them
        (False, 0, None),
        (True, 3, True),
        (True, 3, True),
    ]


def test_a_rate_of_zero_makes_no_live_step_and_moves_nothing(fates: Callable[..., dict[str, ParameterSeen]]) -> None:
    for event in fates(optimizer="torch.optim.SGD(model.parameters(), lr=0.0)").values():
        assert (event.steps, event.live_steps, event.moved) == (3, 0, False)


def test_a_step_that_rounding_takes_back_is_live_and_not_visible(
    fates: Callable[..., dict[str, ParameterSeen]],
) -> None:
    told = fates(optimizer="torch.optim.SGD(model.parameters(), lr=1e-12)")
    for event in told.values():
        assert (event.live_steps, event.visible_steps, event.moved) == (3, 0, False)


@pytest.mark.parametrize(
    ("before", "rate", "why"),
    [
        ("", "0.0", "rate"),
        ("", "0.1", ""),
        ("def later(optimizer): optimizer.param_groups[0]['lr'] = 0.1", "0.0", "waits"),
        ("model[0].requires_grad_(False)", "0.1", "frozen"),
        ("model[0].requires_grad_(False)\ndef thaw(): model[0].requires_grad_(True)", "0.1", ""),
    ],
)
def test_what_never_moves_says_why(
    fates: Callable[..., dict[str, ParameterSeen]], before: str, rate: str, why: str
) -> None:
    told = fates(before=before, optimizer=f"torch.optim.SGD(model.parameters(), lr={rate})")
    assert {event.still for event in told.values()} - {""} == {why} - {""}
