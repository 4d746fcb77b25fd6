"""Sums that grow from step to step, and the averages that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event, TensorFact

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site


@dataclass(slots=True, kw_only=True, eq=False)
class Summed(Event):
    """`holder += something`, in a loop, or `sum(holder)`, with `at_once`.

    `started` is where the holder was set to zero, None where that is not known. `carries` are the `Summed` events whose
    values the holder surely had inside. `means` are the events that computed what was added, where that is the mean over a
    batch. `counts`: it was one that was added. `listed` is the list that was summed up at once; 0 where it was no list.
    """

    holder: str
    started: Site | None = None
    carries: frozenset[int] = NO_EVENTS
    means: frozenset[int] = NO_EVENTS
    counts: bool = False
    at_once: bool = False
    listed: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Meaned(Event):
    """The mean of all that is in a tensor was taken, in a loop; `value` is the tensor."""

    value: TensorFact


@dataclass(slots=True, kw_only=True, eq=False)
class Averaged(Event):
    """A sum was divided: `name` is the expression, `sums` the `Summed` events that are surely in the dividend.

    `length` is the object whose length it was divided by, a loader or what it reads for one; 0 where it is none. `by` are
    the `Summed` events in the divisor. `means` are the events that computed what was averaged, where that is means over
    batches, each with the same weight: in a list, or each divided by the length before they are added up.
    """

    name: str
    sums: frozenset[int]
    length: int = 0
    by: frozenset[int] = NO_EVENTS
    means: frozenset[int] = NO_EVENTS
