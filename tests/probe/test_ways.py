"""A run refutes only what it came to as the source does: from the same calls, past the same places."""

from __future__ import annotations

from typing import Any

import pytest

from torch_doctor.probe import Ways
from torch_doctor.rule import Finding, Level, Step
from torch_doctor.trace import (
    CallEntered,
    Forward,
    GradModeEntered,
    ModuleBuilt,
    Run,
    Scope,
    ScopeKind,
    Site,
    TensorFact,
    Trace,
)

LINE, SWITCH = Site("train.py", 5, 9, 5, 24), Site("train.py", 30, 5, 30, 18)
EARLY, LATE = Site("train.py", 20, 5, 20, 12), Site("train.py", 40, 5, 40, 12)
ROOT = Scope(ScopeKind.ROOT, Site("train.py", 1, 1, 1, 1))
FOUND = Finding("TDR401", "example", Level.ERROR, "something is wrong", LINE, (Step(SWITCH, "switched here"),))

FORWARD: dict[str, Any] = {
    "name": "net",
    "class_name": "Net",
    "sensitive": False,
    "training": True,
    "grad": True,
    "trainable": True,
    "inputs": TensorFact(),
    "output": TensorFact(),
}


def seen(*calls: tuple[Site, ...], run: Run | None = None) -> Trace:
    """A trace that comes to the finding's line from each of these chains of calls."""
    trace = Trace("train.py", run=run)
    for chain in calls:
        scope = ROOT
        for place in chain:
            trace.add(CallEntered(site=place, scope=scope, function="score", function_site=LINE))
            scope = Scope(ScopeKind.CALL, LINE, scope, name="score", called_at=place)
        trace.add(GradModeEntered(site=LINE, scope=scope, context="torch.no_grad", enabled=False))
    return trace


@pytest.mark.parametrize(
    ("run", "missed"),
    [
        (seen((EARLY,), (LATE,), run=Run()), None),
        (seen((EARLY,), run=Run()), LATE),
        (seen((EARLY,), (EARLY, LATE), run=Run()), None),
        (seen((EARLY,), (LATE,), run=Run(marked={LINE, SWITCH}, passed={LINE})), SWITCH),
    ],
    ids=[
        "all ways are gone",
        "one call is not made",
        "a wrapper is no other way",
        "a step of the trail is not come to",
    ],
)
def test_what_a_run_left_out_is_told(run: Trace, missed: Site | None) -> None:
    assert Ways([seen((EARLY,), (LATE,))]).left_out(FOUND, run) == missed


@pytest.mark.parametrize(
    ("run", "missed"),
    [(seen((EARLY, LATE), run=Run()), EARLY), (seen((EARLY, LATE), (EARLY,), run=Run()), None)],
    ids=["only by way of another function", "both ways"],
)
def test_what_one_call_may_reach_directly_is_another_way(run: Trace, missed: Site | None) -> None:
    assert Ways([seen((EARLY,), (EARLY, LATE))]).left_out(FOUND, run) == missed


def test_another_model_than_that_of_the_finding_says_nothing_of_it() -> None:
    def built(*run: int) -> Trace:
        trace = seen((EARLY,), run=Run())
        for number, place in enumerate((SWITCH, LATE)):
            trace.add(ModuleBuilt(site=place, scope=ROOT, module=number, class_name="Net"))
        for number in run:
            site = Site("train.py", 50, 5, 50, 12)
            trace.add(Forward(site=site, scope=ROOT, module=number, **FORWARD))
        return trace

    source = Ways([built(0, 1)])
    assert source.left_out(FOUND, built(0, 1)) is None
    assert source.left_out(FOUND, built(1)) == SWITCH


def test_what_nobody_in_sight_calls_is_reached_from_anywhere() -> None:
    assert Ways([seen(())]).left_out(FOUND, seen((LATE,), run=Run())) is None


def test_without_a_source_nothing_is_left_out() -> None:
    assert Ways().left_out(FOUND, seen((), run=Run())) is None
