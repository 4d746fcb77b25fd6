"""Schedules: learning-rate schedulers, their lengths, and loops that count their iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names


class Count(Struct, frozen=True, kw_only=True):
    """A number of iterations or steps."""

    number: int | None = None
    """The number; None if unknown."""
    text: str = ""
    """The expression."""
    quantity: str = ""
    """A text that is equal for equal numbers, also unknown ones; "" if nothing is known."""
    batches: frozenset[int] = NO_EVENTS
    """The loaders of whose number of batches it is a multiple."""

    def equals(self, other: Count) -> bool:
        """Whether both are surely the same number."""
        known = self.number is not None and self.number == other.number
        return known or (bool(self.quantity) and self.quantity == other.quantity)

    def words(self) -> str:
        """The count in words."""
        return self.text or ("an unknown number" if self.number is None else f"{self.number:,}")


class SchedulerBuilt(Event, frozen=True, kw_only=True):
    """A learning-rate scheduler is constructed."""

    scheduler: int
    """The scheduler."""
    optimizer: int
    """The optimizer."""
    class_name: str
    """The class of the scheduler."""
    resumes: bool = False
    """Whether it gets the epoch to start from."""
    told: str = ""
    """Its arguments that may change from one iteration of a loop to the next."""

    def introduce(self, names: Names) -> None:
        names.built(self.scheduler, self.class_name)

    def words(self, names: Names, /) -> str:
        return f"create scheduler {short(self.class_name)} on {names.things([self.optimizer])}"


class SchedulerStepped(Event, frozen=True, kw_only=True):
    """`scheduler.step()` is called."""

    scheduler: int
    """The scheduler."""
    optimizer: int
    """The optimizer."""
    name: str
    """The name of the scheduler in the script."""
    explicit: bool = False
    """Whether an argument, such as an epoch or a metric, determines the step."""
    metric: float | None = None
    """The number that is passed. Only the probe knows it."""

    def words(self, _: Names, /) -> str:
        return f"step scheduler {quoted(self.name)}{' (with an argument)' if self.explicit else ''}"


class ScheduleCounted(Event, frozen=True, kw_only=True):
    """The length of a schedule is known: its steps until it ends (`T_max`, the last milestone) or decays again (`step_size`)."""

    scheduler: int
    """The scheduler."""
    length: Count
    """The number of steps."""
    falls: float | None = None
    """The factor of the decay; None for a smooth schedule."""

    def words(self, _: Names, /) -> str:
        return f"the schedule is {self.length.words()} steps long"


class LoopCounted(Event, frozen=True, kw_only=True):
    """The header of a loop counts its iterations: `range(epochs)`."""

    passes: Count
    """The number of iterations."""

    def words(self, _: Names, /) -> str:
        return f"count to {self.passes.words()}"
