"""Reshapes: which dimensions a tensor had, and which it got."""

from __future__ import annotations

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.names import Names  # noqa: TC001 - as the other events
from torch_doctor.trace.events.wording import quoted, short


class Reshaped(Event, frozen=True, kw_only=True):
    """`view` or `reshape` gives a tensor other dimensions, which have elements of several of the old ones in them.

    The static witness reports only those that surely were meant to reorder dimensions, the probe each that may be one.
    """

    name: str
    """The expression."""
    before: tuple[int | str, ...]
    """The sizes before, outermost first; the static witness uses the words of the script."""
    after: tuple[int | str, ...]
    """The sizes after it."""
    meant: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    """The groups of places, before and after, that have equal sizes, as `torch_doctor.trace.amounts.Regrouped` has them."""

    def words(self, _: Names, /) -> str:
        sizes = " to ".join(f"[{', '.join(map(str, each))}]" for each in (self.before, self.after))
        return f"{quoted(short(self.name))} reshapes {sizes}"


class ReshapedAlike(Event, frozen=True, kw_only=True):
    """A loss compares two tensors that were reshaped in the same way, or another reshape takes one back."""

    reshaped: tuple[int, ...]
    """The `Reshaped` events."""
    restored: bool = False
    """Whether another reshape at this place takes it back, with nothing computed between them: elements are shifted on purpose."""

    def words(self, _: Names, /) -> str:
        return "a reshape is taken back" if self.restored else "a loss compares tensors that were reshaped alike"
