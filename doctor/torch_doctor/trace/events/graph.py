"""Graphs that outlive their iteration: values that are retained or logged, and memory that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.words import Retention


class Retained(Event, frozen=True, kw_only=True):
    """A value was put where it outlives the statement: a running sum, a container, an attribute.

    `holder` is the user's name for it; `carries` are the `Retained` events whose values the holder already had inside, or the
    `Forward` events of what had just been left there: when one of an earlier iteration is among them, a value outlived its
    iteration. `bounded`: the holder drops old values by
    itself (`deque(maxlen=...)`).
    """

    value: TensorFact
    how: Retention
    holder: str
    carries: frozenset[int] = NO_EVENTS
    bounded: bool = False

    def words(self, _: Names, /) -> str:
        bounded = ", which drops old values automatically" if self.bounded else ""
        return f"retain {self.value.words()} in {quoted(self.holder)} ({self.how.value}){bounded}"


class StateKept(Event, frozen=True, kw_only=True):
    """A module keeps what it computed, perhaps with its graph, in an attribute: its next call may go on from there."""

    module: int
    name: str

    def words(self, names: Names, /) -> str:
        return f"{names.thing(self.module)} stores a computed value as {quoted(self.name)}"


class Logged(Event, frozen=True, kw_only=True):
    """A value went to a sink: something that formats, plots or collects what it is given.

    `sink` is its canonical name, `name` the user's expression for it. `keeps`: it adds up or collects the very value it gets.
    `needs_number`: it is made for numbers, and of a tensor it makes a text or an error.
    """

    value: TensorFact
    sink: str
    name: str = ""
    keeps: bool = False
    needs_number: bool = False

    def words(self, _: Names, /) -> str:
        return f"log {self.value.words()} to {self.sink}"


class MemoryGrew(Event, frozen=True, kw_only=True):
    """Graphs stayed alive from pass to pass: `alive` of them after `passes` passes, `size` bytes behind each.

    `site` is the line that keeps them where that is known, else the one that made them; `holder` is what holds them.
    Only the probe writes it.
    """

    holder: str
    alive: int
    passes: int
    size: int

    def words(self, _: Names, /) -> str:
        return f"{self.alive} graphs alive after {self.passes} iterations, held by {self.holder or 'something'}"
