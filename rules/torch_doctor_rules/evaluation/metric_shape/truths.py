"""Booleans that are compared with a number that none of them reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import OUT_OF_REACH, NumberCompared
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Evidence
    from torch_doctor.trace import Site, Trace

BOOLEANS = (1, 2)
"""The first torch whose comparisons give booleans: in older ones they were numbers, and could be added."""
HELP = "convert the booleans to numbers before adding them, or combine them with `&`"


def compared(trace: Trace) -> Iterator[tuple[NumberCompared, str]]:
    """The comparisons of booleans whose result is the same for all of them, with the message."""
    for event in trace.of(NumberCompared):
        if all(map(is_one, _alike(trace, event))) and trace.torch().newest >= BOOLEANS:
            yield event, _said(event)


def _alike(trace: Trace, event: NumberCompared) -> list[NumberCompared]:
    """The comparisons with the same number at a place: `((a == 1) + (b == 1)) == 2` has others in it."""
    wanted = event.sign, event.number
    return [each for each in at(trace, event.site, NumberCompared) if (each.sign, each.number) == wanted]


def is_one(event: NumberCompared) -> bool:
    """Whether no boolean reaches the number."""
    return event.dtype == "bool" and OUT_OF_REACH[event.sign](event.number)


def shown(trace: Trace, site: Site) -> Iterator[Evidence]:
    """What a run compared at a place."""
    events = at(trace, site, NumberCompared)
    for event in [*filter(is_one, events), *events][:1]:
        yield fact(f"a tensor of {event.dtype} was compared with {event.number:g}", event.number, "", event)


def _said(event: NumberCompared) -> str:
    name = named(event.name, "the compared tensor")
    number = f"{event.number:g}"
    how = {"==": "equals", "!=": "equals", ">": "exceeds", ">=": "reaches"}[event.sign]
    if event.added:
        return message(
            "`{name}` adds booleans, which is a logical or: it never {how} {number}", name=name, how=how, number=number
        )
    return message("`{name}` holds booleans: it never {how} {number}", name=name, how=how, number=number)
