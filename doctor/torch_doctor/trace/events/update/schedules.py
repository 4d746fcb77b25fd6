"""Schedules: learning-rate schedulers, their lengths, and loops that count their iterations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


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
    times: str = ""
    """The quantity that such a number is multiplied by, if it is nothing but that product; "" otherwise."""

    def equals(self, other: Count) -> bool:
        """Whether both are surely the same number."""
        known = self.number is not None and self.number == other.number
        return known or (bool(self.quantity) and self.quantity == other.quantity)

    def is_named_like(self, other: Count) -> bool:
        """Whether the script calls both by one name, such as `epochs` and `args.epochs`."""
        names = [re.findall(r"[A-Za-z_]\w*", each.text)[-1:] for each in (self, other)]
        return bool(names[0]) and [name.lower() for name in names[0]] == [name.lower() for name in names[1]]

    @property
    def factor(self) -> str:
        """It as a factor in `times`; "" if nothing is known."""
        return self.quantity or ("" if self.number is None else repr(("const", self.number)))

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
    window: int = 1
    """How many batches a trainer takes for an update, and so for this step; 0 if that is not known."""

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


class ScheduleWritten(Event, frozen=True, kw_only=True):
    """A scheduler was constructed in files that say this about learning rates. Only the static witness writes it."""

    scheduler: int
    """The scheduler."""
    first: str
    """The learning rate until its first step, in words; "" where its construction changes nothing that a step would."""
    steps: frozenset[Site]
    """The calls of a `step` in the script and the files that it has imported, executed or not, but for those of optimizers."""
    sets_rates: bool
    """Whether any of these files sets a learning rate by hand."""

    def words(self, _: Names, /) -> str:
        rates = ", and learning rates are set by hand" * self.sets_rates
        return f"the learning rate is {self.first or 'constant'} until the schedule steps{rates}"


class StepCalled(Event, frozen=True, kw_only=True):
    """A known object was called to `step` that is neither an optimizer nor a scheduler. Only the static witness writes it."""

    def words(self, _: Names, /) -> str:
        return "step something else"


class ScheduleShared(Event, frozen=True, kw_only=True):
    """A scheduler got where it may be stepped by what is not executed. Only the static witness writes it."""

    scheduler: int
    """The scheduler."""
    to: str
    """What got it: an unknown method of its own, the object that it was stored in, or unknown callers."""

    def words(self, names: Names, /) -> str:
        return f"{names.things([self.scheduler], nothing='a scheduler')} may be stepped by `{self.to}`"


class ScheduleRan(Event, frozen=True, kw_only=True):
    """How far a scheduler came in a run; written when the run ends. Only the probe writes it."""

    scheduler: int
    """The scheduler."""
    steps: int
    """How often it stepped, without the step of its constructor."""
    updates: int
    """How often its optimizer stepped since the scheduler was constructed."""
    rate: float
    """The learning rate of the first parameter group, at the end."""
    stayed: bool
    """Whether the rates of all groups are those that its constructor left."""

    def words(self, _: Names, /) -> str:
        return (
            f"the schedule stepped {self.steps} times in {self.updates} updates, and the learning rate is {self.rate:g}"
        )
