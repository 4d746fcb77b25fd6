"""One attempt to memorize a batch: its losses, and how they are drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .fit import MEMORISED
from .telling import count, line, number, plot

if TYPE_CHECKING:
    from .plays import Seen

FEWEST = 60  # updates without which a loss that does not fall says nothing
WINDOW = 5


class Attempt:
    """One attempt: its losses, and what was seen at its first and last update."""

    def __init__(self, rate: float, base: float | None = None) -> None:
        self.rate = rate
        self._base = base
        self.losses: list[float] = []
        self.first: Seen | None = None
        self.last: Seen | None = None
        self.without = 0

    @property
    def ratio(self) -> float:
        """What is left of the loss, over a few updates each; infinite where it is not finite any more."""
        own = self.losses
        if not own or not math.isfinite(own[-1]):
            return math.inf
        return self.end / self.base if self.base > 0 else math.nan

    @property
    def end(self) -> float:
        """The loss over the last updates."""
        end = self.losses[-WINDOW:]
        return sum(end) / len(end) if end else math.inf

    @property
    def short(self) -> bool:
        """Whether too few updates fitted into the time: a loss that is not finite, or low, ends a run as well."""
        return len(self.losses) < FEWEST and math.isfinite(self.losses[-1]) and self.ratio > MEMORISED

    @property
    def base(self) -> float:
        """The loss at first, of the script's own attempt."""
        if self._base is not None:
            return self._base
        start = self.losses[: min(WINDOW, max(1, len(self.losses) // 4))]
        mean = sum(start) / len(start)
        return mean if mean <= 2 * self.losses[0] else self.losses[0]  # what rises at once begins where it was


def curve(runs: list[Attempt]) -> dict[str, Any]:
    """Return the figure of the losses of all attempts, of which the first has the script's own learning rate."""
    own = runs[0]
    told = f"the loss goes from {number(own.losses[0])} to {number(own.losses[-1])} in {count(len(own.losses), 'step')}"
    names = ["the script's learning rate", *(f"{run.rate:g} × it" for run in runs[1:])]
    positive = all(each > 0 for run in runs for each in run.losses if math.isfinite(each))
    return plot(
        "Loss on one repeated batch",
        "lines",
        told,
        x_label="step",
        y_label="loss",
        y_log=positive and own.ratio < MEMORISED,
        series=[line(name, list(run.losses)) for name, run in zip(names, runs)],
    )
