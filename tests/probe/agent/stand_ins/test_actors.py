"""What reaches a model or an optimizer."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from torch_doctor.probe.agent.stand_ins.unknown.actors import reaches_actor

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = nn.Linear(2, 2)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.1)
ACTORS = (nn.Module, torch.optim.Optimizer, nn.Parameter)


def stepping() -> Callable[[], Any]:
    optimizer = OPTIMIZER
    return lambda: optimizer.step(closure=None)


def itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def not_yet_bound() -> Callable[[], Any]:
    def asked() -> Any:
        return later

    for later in list[int]():
        assert later
    return asked


@pytest.mark.parametrize(
    "value",
    [
        MODEL,
        OPTIMIZER.step,
        functools.partial(print, model=MODEL),
        {"state": types.SimpleNamespace(optimizer=OPTIMIZER)},
        OPTIMIZER.param_groups,
        list(MODEL.parameters()),
        stepping(),
        lambda: MODEL(torch.ones(2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_model_or_an_optimizer_is_reached_through_what_holds_it(value: object) -> None:
    assert reaches_actor([value], ACTORS)


@pytest.mark.parametrize(
    "value",
    [3, "model", MODEL.state_dict(), torch.ones(2), nn.Linear, nn, itself(), not_yet_bound(), MODEL.parameters()],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_reaches_none(value: object) -> None:
    assert not reaches_actor([value], ACTORS)
