"""Figures: comparisons with the best one so far, and what they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


LOWER, HIGHER = "lower", "higher"
"""Which figures are better, or are kept, in `BestCompared`."""


class BestCompared(Event, frozen=True, kw_only=True):
    """A figure is compared with the best one so far, which decides what is kept; or the best of several is chosen.

    Only the static witness writes it.
    """

    kept: str
    """The figures that are kept: "lower" or "higher" ones."""
    name: str
    """The expression of the figure."""
    best: str = ""
    """The expression of the best one so far; "" if the best of several is chosen at once."""
    by: str = ""
    """The expression of the function that chooses at once, or renews the best figure, such as `max`; "" if none does."""
    at_once: bool = False
    """Whether the best of several is chosen at once, and nothing is compared."""
    better: str
    """The figures that are better, as they are computed: "lower" or "higher"."""
    strict: bool = True
    """Whether equal figures are not kept."""
    first: bool = True
    """Whether the figure is the left side of the comparison."""
    bound: float | None = None
    """The number that no figure gets below or above; None if there is none."""
    start: float | None = None
    """The first best figure; None if it is no number that the source shows."""
    renewed: bool = True
    """Whether the best figure is ever assigned a new one."""
    arm: tuple[Site, ...] = ()
    """The statements that are executed where a figure is kept, and the calls that are told of it."""
    loads: bool = False
    """Whether what is assigned beside the best figure decides which weights are loaded."""
    waits: bool = False
    """Whether something is counted where no figure is kept."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events whose results the figure measures."""
    figure_at: Site | None = None
    """The place of the figure in the comparison."""
    by_at: Site | None = None
    """The place of that function."""
    started: Site | None = None
    """The place of the number that it is at first; None if there are several, or none."""

    def words(self, _: Names, /) -> str:
        if self.at_once:
            return f"choose a {self.kept} {quoted(self.name)} by {quoted(self.by)}"
        return f"keep {quoted(self.name)} if it is {self.kept} than {quoted(self.best)}"


class FiguresCompared(Event, frozen=True, kw_only=True):
    """Two numbers are compared, or the largest or smallest of several is chosen. Only the probe writes it, at findings."""

    sign: str
    """The sign between the numbers, or "max" or "min"."""
    left: tuple[float, ...]
    """The number on the left, or all that it is chosen from."""
    right: float = 0.0
    """The number on the right."""

    def words(self, _: Names, /) -> str:
        numbers = ", ".join(f"{each:.4g}" for each in self.left[:4])
        return f"compare {numbers} {self.sign} {self.right:.4g}" if self.sign in "<=>=" else f"{self.sign} of {numbers}"


class FigureShown(Event, frozen=True, kw_only=True):
    """A figure of a model becomes part of a text, or is printed. Only the static witness writes it."""

    name: str
    """The text, or the call."""
    forwards: frozenset[int]
    """The `Forward` events whose results the figure measures."""

    def words(self, _: Names, /) -> str:
        return f"show a figure: {quoted(self.name)}"
