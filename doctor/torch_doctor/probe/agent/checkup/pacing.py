"""How much of the time each rung gets, and what a rung would cost that there is no time for."""

from __future__ import annotations

import math
from time import monotonic
from typing import TYPE_CHECKING, Any

from .magnitude import middle

if TYPE_CHECKING:
    from ..caps import Caps
    from .plays import Seen

SHARES = {
    "inspect": 1.0,
    "baseline": 1.0,
    "overfit-one-batch": 4.0,
    "small-subset": 4.0,
    "learning-rate": 3.0,
    "terms": 0.1,
    "repeatability": 2.0,
    "metric": 0.01,
    "device": 2.0,
    "throughput": 3.0,
    "non-finite": 1.0,
    "errors": 2.0,
    "receipt": 1.0,
}
"""The rungs in their order, each with its share of the time."""
STEPS = {
    "baseline": 4,
    "overfit-one-batch": 300,
    "small-subset": 200,
    "learning-rate": 90,
    "repeatability": 20,
    "device": 6,
    "throughput": 14,
    "non-finite": 21,
}
"""How often a rung repeats the step where nothing ends it earlier, counted on scripts with two loaders of 6 and 25 batches.

`small-subset` makes up to 350 repetitions where there is time; 200 are enough to read its curves.
"""
FIRST = ("inspect", "baseline", "overfit-one-batch", "small-subset", "learning-rate")
"""Rungs that decide most: they take what they need, as far as there is time, before the others get their shares."""
LEAST = 0.05  # seconds without which no rung begins
RECENT = 15  # steps of which the middle one tells what a step takes
ROUND = 30  # seconds to which a proposed time is rounded up
SLACK = 1.2  # of what a rung needs besides its steps


class Pacing:
    """Looks at the clock: `until` is when no rung begins any more, `step` the seconds that a step takes; 0 where none was made."""

    def __init__(self, caps: Caps, plan: dict[str, Any]) -> None:
        self.until = caps.began + caps.seconds * float(plan.get("share", 0.8))
        self._ours = self.until - caps.began
        self._all = float(plan.get("time") or 0.0)
        self._took: list[float] = []
        self._part = 1.0
        self._granted = 0.0

    def take(self, seen: Seen | None) -> None:
        """A step was repeated."""
        if seen is not None and seen.seconds > 0:
            self._took = [*self._took[1 - RECENT :], seen.seconds]

    @property
    def step(self) -> float:
        """The seconds that a step usually takes."""
        return middle(self._took)

    def need(self, name: str) -> float:
        """The seconds that a rung takes by its steps."""
        return STEPS.get(name, 0) * self.step * SLACK

    def begin(self, name: str, rungs: list[str]) -> float:
        """When a rung has to be done that begins now; `rungs` are those that are left, with it.

        One of the first gets what it needs, but for what those behind it need as well, of which each gets its part.
        """
        now = monotonic()
        left = max(0.0, self.until - now)
        self._part = SHARES[name] / sum(SHARES[each] for each in rungs)
        needed = {each: self.need(each) for each in rungs if each in FIRST}
        whole = max(left, sum(needed.values()))
        if name in FIRST and whole:
            self._part = max(self._part, needed[name] / whole)
        self._granted = left * self._part
        return now + self._granted

    def missing(self, name: str) -> str:
        """What the rung that began last costs, and how much time would do; "" where no step tells."""
        cost, granted = self.need(name), self._granted
        if cost <= granted or not self._all:
            return ""
        more = (cost - granted) / self._part * self._all / max(self._ours, 1.0)
        wanted = math.ceil((self._all + more) / ROUND) * ROUND
        of = f" of the {_written(granted)} left" if granted >= LEAST else ""
        return f"would take about {_written(cost)}{of}; --time {wanted} runs it"


def _written(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1g} s"
