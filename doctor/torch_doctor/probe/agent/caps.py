"""When loops end early, and when the whole run has to."""

from __future__ import annotations

import ctypes
import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .loops import Loop

BATCHES, EPOCHS = 3, 2
STEPS = 200
MOST = 32  # passes of a training loop that waits for its second update
LONGEST = 1000  # passes of a loop that only evaluates
PATIENCE = 0.15  # the part of the time that one such loop may take
SOON, LATE = 0.6, 0.92  # parts of the time after which all loops end, and the run


class StopProbe(BaseException):
    """The budget is spent. No `except Exception` of the script's catches it."""


class Caps:
    """Decides, between two passes of a loop, whether it goes on; a loop that does not falls through.

    A loop with a backward pass or an update in it makes `batches` passes, and a few more until it has updated twice; a loop
    around such a loop makes `epochs` passes. A pass over a loader in which a model only runs makes `batches` passes. Other
    loops run as they are, until time is short. What the static witness knows of a loop comes before all that.
    """

    def __init__(self, plan: Mapping[str, Any], note: Callable[[str], None]) -> None:
        self.batches: int = plan.get("batches") or BATCHES
        self.epochs: int = plan.get("epochs") or EPOCHS
        self.budget: int = plan.get("steps") or STEPS
        self.known: Mapping[str, Any] = plan.get("loops") or {}
        self.seconds: float = float(plan.get("timeout") or 60.0)
        self.began = monotonic()
        self.urgent = False
        self.steps = 0
        self.stopping = False
        self._note = note
        self._without_steps: set[int] = set()
        self.between: Callable[[], None] = lambda: None

    # --- loops ---

    def over(self, loop: Loop) -> bool:
        """Whether the loop ends before its next pass; called when something happened in it, or time is short."""
        if self.stopping:
            raise StopProbe
        self.between()
        if not loop.watched:
            return False
        done = self._over(loop)
        if done and not loop.capped:
            loop.capped = True
            if loop.trained and not loop.steps:
                self._without_steps.add(loop.node.key)
        return done

    def _over(self, loop: Loop) -> bool:
        if self.urgent or (loop.steps and self.steps >= self.budget):
            return True
        passes = loop.number
        if loop.nested:
            return passes >= self._known(loop, self.epochs) and (loop.trained or loop.batches or self._long(loop))
        if loop.trained:
            if passes < self._known(loop, self.batches):
                return False
            waits = loop.steps < 2 and loop.node.key not in self._without_steps  # noqa: PLR2004 - two updates show stale gradients
            return not waits or passes >= MOST or self._long(loop)
        if loop.batches:
            return passes >= self._known(loop, self.batches)
        return passes >= LONGEST or self._long(loop)

    def _known(self, loop: Loop, otherwise: int) -> int:
        span = loop.node.span
        told = self.known.get(f"{span.path}:{span.row}:{span.column + 1}")
        return int(told["cap"]) if told and told.get("cap") else otherwise

    def _long(self, loop: Loop) -> bool:
        return loop.began > 0 and monotonic() - loop.began > PATIENCE * self.seconds

    def happened(self, loops: list[Loop], *, trained: bool, step: bool) -> None:
        """A forward, or with `trained` a backward pass or an update, happened in these loops, outermost first."""
        if step:
            self.steps += 1
        last = len(loops) - 1
        for place, loop in enumerate(loops):
            if not loop.watched:
                loop.watched = True
                loop.began = monotonic()
            loop.forwarded = True
            if trained:
                loop.trained = True
                loop.steps += step
            if place < last and (loops[place + 1].trained or loops[place + 1].batches):
                loop.nested = True

    # --- time ---

    def start_clock(self) -> None:
        """Begins to watch the time, in a thread that ends with the process."""
        thread = threading.Thread(target=self._watch_time, name="torch-doctor", daemon=True)
        thread.start()

    def _watch_time(self) -> None:
        main = threading.main_thread().ident or 0
        sleep(max(0.0, self.seconds * SOON - (monotonic() - self.began)))
        self.urgent = True
        sleep(max(0.0, self.seconds * LATE - (monotonic() - self.began)))
        self.stopping = True
        self._note(f"the time of {self.seconds:g} s is nearly used: the run was stopped")
        raise_in(main)


def raise_in(thread: int) -> None:
    """Raises `StopProbe` in a thread, between two of its instructions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(StopProbe))
