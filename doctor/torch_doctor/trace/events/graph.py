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
    """A value is stored where it outlives the statement: in a running sum, a container or an attribute."""

    value: TensorFact
    """The value."""
    how: Retention
    """How it is stored."""
    holder: str
    """The expression for the sum, container or attribute."""
    carries: frozenset[int] = NO_EVENTS
    """Earlier `Retained` or `Forward` events whose values the holder contains; one of an earlier iteration outlived it."""
    bounded: bool = False
    """Whether the holder drops old values automatically, such as `deque(maxlen=...)`."""

    def words(self, _: Names, /) -> str:
        bounded = ", which drops old values automatically" if self.bounded else ""
        return f"retain {self.value.words()} in {quoted(self.holder)} ({self.how.value}){bounded}"


class StateKept(Event, frozen=True, kw_only=True):
    """A module stores what it computed, possibly with its graph, in an attribute that its next call may read."""

    module: int
    """The module."""
    name: str
    """The attribute."""

    def words(self, names: Names, /) -> str:
        return f"{names.thing(self.module)} stores a computed value as {quoted(self.name)}"


class Logged(Event, frozen=True, kw_only=True):
    """A value is passed to something that formats, plots or collects values."""

    value: TensorFact
    """The value."""
    sink: str
    """The canonical name of the function or class that gets it."""
    name: str = ""
    """The expression for it."""
    keeps: bool = False
    """Whether it sums or collects the value itself."""
    needs_number: bool = False
    """Whether it expects numbers, so that a tensor becomes text or an error."""

    def words(self, _: Names, /) -> str:
        return f"log {self.value.words()} to {self.sink}"


class MemoryGrew(Event, frozen=True, kw_only=True):
    """Graphs stay alive from iteration to iteration.

    `site` is the line that keeps them, or if unknown creates them. Only the probe writes it.
    """

    holder: str
    """The expression for what keeps them."""
    alive: int
    """The number of graphs that are alive."""
    passes: int
    """The number of iterations."""
    size: int
    """The memory of each graph, in bytes."""

    def words(self, _: Names, /) -> str:
        return f"{self.alive} graphs alive after {self.passes} iterations, held by {self.holder or 'something'}"
