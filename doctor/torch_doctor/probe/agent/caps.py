"""When loops end early, and when the whole run has to."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from time import monotonic, process_time, sleep, thread_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .loop import Loop

BATCHES, EPOCHS = 3, 2
STEPS = 200
MOST = 64  # passes of a training loop that waits for its second update
LONGEST = 256  # passes of one whose period is longer
PASS_SECONDS = 2.0  # how long a loop that only evaluates may take
SHOWN = 8  # updates after which one loop has shown all that it has to show
ENOUGH = 2  # updates: the second shows stale gradients
PATIENCE = 0.15  # the part of the time that a training loop may wait for its second update
EXPERIENCE = 0.3  # the part of the time that a loop may take before the first update, where the source shows one in it
AT_MOST = 4  # times as long by the clock as by what is computed
BUSY = 0.4  # seconds that are computed in each second by the clock of a run that computes, rather than waits for others
WAITED = Path("/proc/self/schedstat")  # nanoseconds: what the main thread has run, and how long it was ready to
SOON, LATE = 0.7, 0.97  # parts of the time after which all loops end, and the run


class StopProbe(BaseException):
    """The budget is spent. No `except Exception` of the script's catches it."""


class Caps:
    """Decides, between two passes of a loop, whether it goes on; a loop that does not falls through.

    A loop with a backward pass or an update in it makes `batches` passes, and more until it has updated twice and made two
    of the periods that the source shows, where a part of the time is enough for that; if it evaluates in the last of them,
    one more follows. A loop around such a loop makes `epochs` passes, and a loop that has none around it makes its own as
    often. A loop in which a model only runs makes at least `batches` passes, and ends after `pass_seconds`: who collects
    predictions compares them with all targets. Before the first update, it waits longer for one that the source shows. Other
    loops run as they are, until time is short. What the static witness knows of a loop comes before all that.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.batches: int = plan.get("batches") or BATCHES
        self.epochs: int = plan.get("epochs") or EPOCHS
        self.budget: int = plan.get("steps") or STEPS
        self.known: Mapping[str, Any] = plan.get("loops") or {}
        self.seconds: float = float(plan.get("timeout") or 60.0)
        self.patience: float = float(plan.get("patience") or 0.0)  # seconds until the first update
        self.began = monotonic()
        self.urgent = False
        self.trained = False
        self.most = 0  # passes of a loop in which a model runs
        self.steps = 0
        self.stopping = False
        self.pass_seconds: float = float(plan.get("pass_seconds") or PASS_SECONDS)
        self._without_steps: set[int] = set()
        self.between: Callable[[], None] = lambda: None
        self.ended: Callable[[Loop], None] = lambda _: None
        self.shown: Callable[[Loop], None] = lambda _: None
        self.left: Callable[[], None] = lambda: None
        self.late: Callable[[], None] = lambda: None
        self.agreed: Callable[[Loop, bool], bool] = lambda _, mine: mine
        self.climb: Any = None  # what feeds a loop during a checkup, until it is over

    # --- loops ---

    def over(self, loop: Loop) -> bool:
        """Whether the loop ends before its next pass; called when something happened in it, or time is short."""
        if self.stopping:
            raise StopProbe
        self.between()
        if not loop.watched:
            return False
        self.most = max(self.most, loop.number)
        done = self.agreed(loop, self._over(loop))
        if done:
            self.left()
        elif loop.steps >= SHOWN and loop.number > self._periods(loop) and not loop.nested:
            self.shown(loop)
        if done and not loop.capped:
            loop.capped = True
            self.ended(loop)
            if loop.trained and not loop.steps:
                self._without_steps.add(loop.node.key)
        return done

    def _over(self, loop: Loop) -> bool:
        if self.urgent or (loop.steps and self.steps >= self.budget):
            return True
        passes = loop.number - loop.trained_since
        if not loop.trained:
            collects = not self.steps and bool(self._told(loop))  # agents collect experience before their first update
            seconds = EXPERIENCE * self.seconds if collects else self.pass_seconds
            return passes >= self.batches and self._longer(loop, seconds)
        told, batches = self._told(loop), self.batches * self.epochs if loop.alone else self.batches
        cap = told.get("cap", self.epochs if loop.nested else batches)
        if cap is None or passes < cap:
            return False
        if not loop.nested or told.get("kind") == "batch":  # it goes over batches, perhaps with an evaluation in it
            waits = loop.steps < ENOUGH and loop.node.key not in self._without_steps
            most = max(MOST if waits else 0, self._periods(loop))
            if passes < most and not self._longer(loop, PATIENCE * self.seconds):
                return False
            if loop.evaluated == loop.number and not loop.extended:  # the next batch shows what that left behind
                loop.extended = True
                return False
        return True

    def _periods(self, loop: Loop) -> int:
        """The passes of two of its periods; 0 where it has none, or would update too often in them."""
        passes = ENOUGH * int(self._told(loop).get("period", 0))
        return passes if passes <= LONGEST and loop.steps * passes <= self.budget * loop.number else 0

    def _told(self, loop: Loop) -> Mapping[str, Any]:
        """What the static witness knows of a loop: after how many passes it ends, None for never, and its period."""
        span = loop.node.span
        return self.known.get(f"{span.path}:{span.row}:{span.column + 1}") or {}

    def _longer(self, loop: Loop, seconds: float) -> bool:
        """Whether a loop took so long, by what it computed: other processes are not to decide what a run shows."""
        return thread_time() - loop.computed > seconds or monotonic() - loop.began > AT_MOST * seconds

    def happened(self, loops: list[Loop], *, trained: bool, step: bool) -> None:
        """A forward, or with `trained` a backward pass or an update, happened in these loops, outermost first."""
        self.trained |= trained
        if step:
            self.steps += 1
        inner: Loop | None = None
        for loop in reversed(loops):
            if not loop.watched:
                loop.watched = True
                loop.began, loop.computed = monotonic(), thread_time()
            if trained:
                if not loop.trained:  # agents collect experience for thousands of passes before they learn
                    loop.trained, loop.trained_since = True, max(0, loop.number - 1)
                loop.steps += step
            loop.evaluated = 0 if trained else loop.number
            loop.alone &= loop is loops[0]
            loop.nested |= inner is not None and (inner.trained or inner.batches)
            inner = loop

    # --- time ---

    def start_clock(self) -> None:
        """Begins to watch the time, in a thread that ends with the process."""
        thread = threading.Thread(target=self._watch_time, name="torch-doctor", daemon=True)
        thread.start()

    def _watch_time(self) -> None:
        main = threading.main_thread().ident or 0
        if self.patience:
            self._sleep_until(self.patience)
            slow = not self.steps and self.most < self.batches  # and no agent that collects experience
            if slow and process_time() + _waited() > BUSY * (monotonic() - self.began):
                self._stop(main)
                return
        self._sleep_until(self.seconds * SOON)
        self.urgent = True
        self._sleep_until(self.seconds * LATE)
        self._stop(main)

    def _sleep_until(self, seconds: float) -> None:
        sleep(max(0.0, seconds - (monotonic() - self.began)))

    def _stop(self, main: int) -> None:
        self.stopping = True
        self.late()
        self.between()  # who waits in the kernel for another process does not hear the next
        raise_in(main)


def _waited() -> float:
    """The seconds for which the main thread waited for a processor that others used; 0 where the system does not tell."""
    try:
        return int(WAITED.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def raise_in(thread: int) -> None:
    """Raises `StopProbe` in a thread, between two of its instructions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(StopProbe))
