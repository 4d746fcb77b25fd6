"""Every event that only a run can show has words of its own."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import pytest

from torch_doctor import trace as t
from torch_doctor.report.seen_words import words
from torch_doctor.trace import seen

SITE = t.Site("train.py", 1, 1, 1, 2)
EVENTS = [
    member
    for member in vars(seen).values()
    if isinstance(member, type) and issubclass(member, t.Event) and member is not t.Event
]
VALUES: dict[object, object] = {
    int: 3,
    float: 0.5,
    str: "fc.weight",
    bool: True,
    tuple[int, ...]: (4, 1, 7),
    tuple[tuple[str, tuple[float, ...]], ...]: (("fc.weight", (0.5, -1.0)),),
}


def made(kind: type[t.Event]) -> t.Event:
    """An event with some value in every field."""
    hints = typing.get_type_hints(kind, localns=vars(t))
    fields: dict[str, Any] = {
        each.name: VALUES[hints[each.name]]
        for each in dataclasses.fields(kind)
        if each.default is dataclasses.MISSING and hints[each.name] in VALUES
    }
    return kind(**{"site": SITE, "scope": t.Scope(t.ScopeKind.ROOT, SITE), **fields})


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_it_is_told_in_words(kind: type[t.Event]) -> None:
    said = words(made(kind))
    assert said != kind.__name__
    assert "\n" not in said


def test_there_are_some() -> None:
    assert len(EVENTS) >= 7
