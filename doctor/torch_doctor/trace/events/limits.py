"""Where the witness sees no further: what it gave up, what left its sight, and who owns the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names


class GaveUp(Event, frozen=True, kw_only=True):
    """The witness stopped looking here (`reason`: a budget, recursion, source that it could not read)."""

    reason: str

    def words(self, _: Names, /) -> str:
        return f"not analyzed further: {self.reason}"


class Escaped(Event, frozen=True, kw_only=True):
    """Something escaped: into a call that could not be followed, or to a caller that nobody can see.

    Whoever got it may have done anything a training loop does: `optimizers` may have been stepped or cleared, `modules`
    may have changed mode, the values in `forwards` and `retained` may have gone backward, gradient `scalers` may have been
    updated. `returned`: it left by being returned from the function that the witness began with. With nothing in it, it
    tells of a `step()` of something unresolved. `loaders` are the data loaders among it. `outputs` are the forwards of which
    something is in it that may have a graph, whether it looks like a loss or not. `states` are the events that took states of
    modules which are in it. `builds`: an optimizer or a scheduler is made of it there; that computes no gradients, and neither
    applies nor clears any. `stays`: a thread got it, which goes on while the script does.
    """

    to: str
    optimizers: frozenset[int] = NO_EVENTS
    modules: frozenset[int] = NO_EVENTS
    forwards: frozenset[int] = NO_EVENTS
    retained: frozenset[int] = NO_EVENTS
    scalers: frozenset[int] = NO_EVENTS
    returned: bool = False
    loaders: frozenset[int] = NO_EVENTS
    outputs: frozenset[int] = NO_EVENTS
    states: frozenset[int] = NO_EVENTS
    builds: bool = False
    stays: bool = False

    def words(self, names: Names, /) -> str:
        things = names.things(self.modules | self.optimizers, nothing="values")
        return f"return {things}" if self.returned else f"pass {things} to {quoted(self.to)}, which is not analyzed"


class Owned(Event, frozen=True, kw_only=True):
    """`framework` owns the loop from here: what it does by itself is written as if the script had done it."""

    framework: str
    details: tuple[str, ...] = ()

    def words(self, _: Names, /) -> str:
        return f"{self.framework} runs the loop{in_brackets(self.details)}"
