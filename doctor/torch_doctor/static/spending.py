"""What each file of a scan costs: all that is done for it together has a limit."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_doctor.static import budget
from torch_doctor.static.budget import OutOfTime, Watchdog, now

if TYPE_CHECKING:
    from collections.abc import Iterator

FOR_RUNS = 0.8
"""The part of its seconds after which a file's runs are ended: what they showed is still judged."""


class Spending:
    """The CPU time that was spent on each file, by the name that it is displayed with; `over`: those whose time is over.

    Within `ending` the work is ended when the file has taken its seconds; within `counting` it is counted, and goes on.
    What lies within an `ending` is ended with it, whichever file it is for.
    """

    def __init__(self) -> None:
        self.over: dict[str, None] = {}
        self._watchdog = Watchdog()
        self._taken: defaultdict[str, float] = defaultdict(float)
        self._current = ""
        self._since = now()
        self.ends = False  # whether something is under way that may be ended

    @contextmanager
    def ending(self, name: str, part: float = 1.0) -> Iterator[None]:
        """What is done within is done for a file, and ended when the file has taken this part of its seconds.

        Raises:
            OutOfTime: it was ended.
        """
        if self.ends:
            yield
            return
        self.ends = True
        try:
            with self.counting(name), self._watchdog.watching(part * budget.SECONDS - self._taken[name]):
                yield
        except OutOfTime:
            self.over[name] = None
            raise
        finally:
            self.ends = False

    @contextmanager
    def counting(self, name: str) -> Iterator[None]:
        """What is done within is done for a file."""
        outer = self._turn_to(name)
        try:
            yield
        finally:
            self._turn_to(outer)

    def ended(self) -> Iterator[tuple[str, str]]:
        """Yield each file whose time is over, with the reason in words, once."""
        while self.over:
            name = next(iter(self.over))
            del self.over[name]
            yield name, f"the analysis takes more than {budget.SECONDS:g} seconds: findings may be incomplete"

    def close(self) -> None:
        """End what watches; it begins again where it is needed."""
        self._watchdog.close()

    def _turn_to(self, name: str) -> str:
        """Spend on this file from here on; the one on which was spent so far."""
        time = now()
        self._taken[self._current] += time - self._since
        before, self._current, self._since = self._current, name, time
        return before
