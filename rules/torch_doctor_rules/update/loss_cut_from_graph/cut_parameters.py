"""Parameters that come to the loss without their graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Escaped, ParameterCut, ParameterSeen, Stepped, WeightsGiven

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

ENOUGH = 2  # backward passes
LOST = "parameter "
"""Begins the cause of a finding about a parameter: its class and its name follow."""


def lost_parameters(trace: Trace) -> Iterator[ParameterCut]:
    """By the source: the cuts that are all of a parameter in the loss, of those that an optimizer steps."""
    told: set[int] = set()
    steps = trace.of(Stepped)
    stepped = frozenset[int]().union(*(step.modules for step in steps if not step.manual))
    by_hand = frozenset[int]().union(*(step.modules for step in steps if step.manual))
    given = frozenset[int]().union(*(event.modules for event in trace.of(WeightsGiven)))
    unseen = frozenset[int]().union(*(event.modules for event in trace.of(Escaped)))
    for event in trace.of(ParameterCut):
        number = event.parameter
        if event.alone and number in stepped - by_hand - given - unseen and number not in told:
            told.add(number)
            yield event


def never_reached(trace: Trace) -> list[ParameterSeen]:
    """By a run: the parameters of an optimizer to which no backward pass gave a gradient."""
    found = trace.of(ParameterSeen)
    return [each for each in found if each.optimizer and each.backwards >= ENOUGH and not each.gradients]


def seen_of(trace: Trace, cause: str) -> list[ParameterSeen]:
    """What a run tells of the parameters that have this cause."""
    return [each for each in trace.of(ParameterSeen) if cause_of(each) == cause]


def cause_of(seen: ParameterSeen) -> str:
    """The cause of a finding about a parameter: its class and its name there."""
    return f"{LOST}{seen.owner_class}.{seen.name.rpartition('.')[2]}"
