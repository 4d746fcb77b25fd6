"""Sums that grow from step to step, and the averages that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site


@dataclass(slots=True, kw_only=True, eq=False)
class Summed(Event):
    """`holder += something`, in a loop.

    `started` is where the holder was set to zero, None where that is not known. `carries` are the `Summed` events whose
    values the holder surely had inside.
    """

    holder: str
    started: Site | None = None
    carries: frozenset[int] = NO_EVENTS


@dataclass(slots=True, kw_only=True, eq=False)
class Averaged(Event):
    """A sum was divided: `name` is the expression, `sums` the `Summed` events that are surely in the dividend.

    `length` is the object whose length it was divided by, a loader or what it reads for one; 0 where it is none. `by` are
    the `Summed` events in the divisor.
    """

    name: str
    sums: frozenset[int]
    length: int = 0
    by: frozenset[int] = NO_EVENTS
