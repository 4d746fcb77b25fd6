"""Tensors that somebody may have put somewhere else, or exchanged for others, where no name of theirs shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training import places
from torch_doctor.static.values import Either, Module, Value, either, reachable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Object


def perhaps_inside(run: Run, holders: Iterable[Value]) -> None:
    """Nobody knows where the tensors are that are in these containers and objects, or in theirs.

    Those of modules stay: who moves a module leaves its plain attributes alone.
    """
    for value in reachable(holders, closed=(Module,)):
        _perhaps(run, value)


def perhaps_attributes(run: Run, thing: Object) -> None:
    """Somebody has all attributes of this at once, or one whose name is not known, and may give it others."""
    perhaps_inside(run, [value for value in thing.fields.values() if isinstance(value, Value)])


def perhaps_any(run: Run) -> None:
    """A tensor moves in place that may be any of those that the function under way can reach."""
    for value in reachable([value for value in run.frame.fields.values() if isinstance(value, Value)]):
        _perhaps(run, value)


def _perhaps(run: Run, value: Value) -> None:
    now = run.heap.current(value)
    if not isinstance(now, Either):
        places.disturbed(run, now)
        return
    moved = [(facts, places.out_of_sight(option)) for facts, option in now.options]
    if any(new is not old for (_, new), (_, old) in zip(moved, now.options, strict=True)):
        run.heap.change(now, either(moved))
