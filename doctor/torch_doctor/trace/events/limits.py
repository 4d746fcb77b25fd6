"""Where the witness sees no further: what it gave up, what left its sight, and who owns the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names


class GaveUp(Event, frozen=True, kw_only=True):
    """The static witness stops here."""

    reason: str
    """Why it stops: a budget, a recursion, or source that it cannot read."""

    def words(self, _: Names, /) -> str:
        return f"not analyzed further: {self.reason}"


class Escaped(Event, frozen=True, kw_only=True):
    """Something is passed to an unresolved call or caller, which may do anything that a training loop does with it."""

    to: str
    """The expression for what gets it."""
    optimizers: frozenset[int] = NO_EVENTS
    """The optimizers, which may be stepped or cleared."""
    modules: frozenset[int] = NO_EVENTS
    """The modules, whose mode may change."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events in values that may go backward."""
    retained: frozenset[int] = NO_EVENTS
    """The `Retained` events in values that may go backward."""
    scalers: frozenset[int] = NO_EVENTS
    """The gradient scalers, which may be updated."""
    returned: bool = False
    """Whether the function that the static witness started with returns it."""
    loaders: frozenset[int] = NO_EVENTS
    """The data loaders."""
    outputs: frozenset[int] = NO_EVENTS
    """The `Forward` events in all values that may have a graph, whether or not they look like a loss."""
    states: frozenset[int] = NO_EVENTS
    """The `StateTaken` events."""
    builds: bool = False
    """Whether it is used to construct an optimizer or scheduler, which computes, applies and clears no gradients."""
    stays: bool = False
    """Whether a thread gets it, which runs in parallel to the script."""

    def words(self, names: Names, /) -> str:
        things = names.things(self.modules | self.optimizers, nothing="values")
        return f"return {things}" if self.returned else f"pass {things} to {quoted(self.to)}, which is not analyzed"


class Owned(Event, frozen=True, kw_only=True):
    """A framework runs the loop from here on. Its own actions are reported as if the script performed them."""

    framework: str
    """The name of the framework."""
    details: tuple[str, ...] = ()
    """What is known of its settings."""
    followed: bool = False
    """Whether all that it steps is reported."""

    def words(self, _: Names, /) -> str:
        return f"{self.framework} runs the loop{in_brackets(self.details)}"
