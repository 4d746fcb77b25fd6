"""Where the witness sees no further, and what it sees of the source alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event

if TYPE_CHECKING:
    from torch_doctor.trace.versions import Version


@dataclass(slots=True, kw_only=True, eq=False)
class Unreadable(Event):
    """The source, or one cell of it, is not valid Python; `reason` is the parser's own word."""

    reason: str


@dataclass(slots=True, kw_only=True, eq=False)
class GaveUp(Event):
    """The witness stopped looking here (`reason`: a budget, recursion, source that it could not read)."""

    reason: str


@dataclass(slots=True, kw_only=True, eq=False)
class Handed(Event):
    """Something went out of sight: into a call that could not be followed, or to a caller that nobody can see.

    Whoever got it may have done anything a training loop does: `optimizers` may have been stepped or cleared, `modules`
    may have changed mode, the values in `forwards` and `kept` may have gone backward, gradient `scalers` may have been
    updated. `returned`: it left by being returned from the function that the witness began with. With nothing in it, it
    tells of a `step()` of something out of sight. `loaders` are the data loaders among it.
    """

    to: str
    optimizers: frozenset[int] = NO_EVENTS
    modules: frozenset[int] = NO_EVENTS
    forwards: frozenset[int] = NO_EVENTS
    kept: frozenset[int] = NO_EVENTS
    scalers: frozenset[int] = NO_EVENTS
    returned: bool = False
    loaders: frozenset[int] = NO_EVENTS


@dataclass(slots=True, kw_only=True, eq=False)
class Owned(Event):
    """`framework` owns the loop from here: what it does by itself is written as if the script had done it."""

    framework: str
    details: tuple[str, ...] = field(default=())


@dataclass(slots=True, kw_only=True, eq=False)
class OutdatedUsed(Event):
    """Something that torch's documentation marks as outdated was named: a function, a class, an attribute, an argument.

    `api` is its torch name, `name` the user's expression, `instead` what takes its place since version `since` of torch.
    """

    api: str
    name: str
    instead: str
    since: Version
