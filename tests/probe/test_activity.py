"""What a terminal says of a run while it runs, from the lines that the agent writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.activity import LONGEST, Activity

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def hear() -> Callable[..., str]:
    """Has one run say a line more, and gives what it is at."""
    activity = Activity()

    def said(t: str, **fields: Any) -> str:
        activity.hear(json.dumps({"t": t, **fields}).encode() + b"\n")
        return activity.words

    return said


def iteration(number: int, parent: int, loop: int, passes: int, kind: str) -> dict[str, Any]:
    return {
        "id": number, "parent": parent, "kind": "iteration", "loop": loop, "number": passes, "loop_kind": kind
    }  # fmt: skip


def forward(scope: int, *, training: bool) -> dict[str, Any]:
    return {"e": "Forward", "in": scope, "training": training, "grad": training}


def test_a_run_starts_imports_trains_evaluates_and_saves(hear: Callable[..., str]) -> None:
    assert Activity().words == "starting"
    assert hear("doing", what="importing torch") == "importing torch"
    assert hear("hello", python="3.11", torch="2.13", device="cpu") == "running"
    hear("scope", id=0, parent=None, kind="root", loop=0, number=0, loop_kind="plain")
    hear("event", e="LoopEntered", loop=1, over="range(3)", **{"in": 0})
    hear("scope", **iteration(1, 0, 1, 1, "plain"))
    assert hear("event", e="LoopIterated", **{"in": 1}) == "iteration 1 of `range(3)`"
    hear("event", e="LoopEntered", loop=2, over="train_loader", **{"in": 1})
    hear("scope", id=2, parent=1, kind="call", loop=0, number=0, loop_kind="plain")
    hear("scope", **iteration(3, 2, 2, 2, "batches"))
    assert hear("event", **forward(3, training=True)) == "epoch 1, batch 2 of `train_loader`"
    hear("event", e="LoopEntered", loop=3, over="test_loader", **{"in": 0})
    hear("scope", **iteration(4, 0, 3, 5, "batches"))
    assert hear("event", **forward(4, training=False)) == "evaluating, batch 5 of `test_loader`"
    assert hear("event", e="Saved", what="model.state_dict()", **{"in": 0}) == "saving `model.state_dict()`"


def test_lines_come_in_pieces_and_garbled_ones_say_nothing() -> None:
    activity = Activity()
    activity.hear(b'{"t":"doing","wh')
    assert activity.words == "starting"
    activity.hear(b'at":"importing torch"}\n[]\nno JSON\n{"t":"event","e":"Saved"}\n')
    assert activity.words == "importing torch"


def test_long_expressions_are_cut(hear: Callable[..., str]) -> None:
    shown = hear("event", e="Saved", what="x" * 100, **{"in": 0})
    assert shown == f"saving `{'x' * (LONGEST - 1)}…`"
