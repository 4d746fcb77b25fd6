"""What one run may cost: its steps are counted, and the seconds of the file are watched."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = 14_000
"""Statements and calls that the longest script may take: less than a second."""
DEPTH = 24
"""Project functions that may be inside each other."""
RECURSIONS = 2
"""How often one function may be inside itself."""
STEPS_SCRIPT = (4_000, 4)
"""Steps that a script may take, and those that each of its lines adds, up to `STEPS`: 99 in 100 end long before."""
STEPS_TRAINING = (2 * STEPS, 0)
"""The same for one whose own text names what a training loop does: of these, half are kept for what follows a long call."""
STEPS_UNCALLED = (2_000, 4)
"""The same for all together that nobody calls in one file."""
LEAST_STEPS = 1_000
"""Steps for each function that nobody calls, once those are used up: when it may train or evaluate."""
SHARE = 0.5
"""The part of its steps that a script keeps for what comes after a call which does not lead to training."""
SHARE_ALONE = 0.25
"""The same for what nobody calls."""
RAISING = 2_000
"""Steps that a block or a call may take of which a test says that it raises."""
STEPS_SETTINGS = (2_000, 0.5)
"""Steps that all runs of a script with other settings may take together, and the part of those of its first run."""
STEPS_FILE = 100_000
"""Steps that all runs of one file may take together: what is found does not depend on how fast the machine is."""
SECONDS = 10.0
"""CPU time that all that is done for one file may take together: a safety net, which is reported and never cached."""
_TICK = 0.1
_PATIENCE = 10
"""Ticks for which a watchdog stays that has nothing to watch."""


def steps_for(lines: int, budget: tuple[int, int]) -> int:
    """The steps of a run of a file with so many lines."""
    least, per_line = budget
    return max(least, min(least + per_line * lines, STEPS))


class _Clock:
    """The CPU time of the process, without what was `uncounted`."""

    def __init__(self) -> None:
        self._aside = 0.0
        self._since: float | None = None

    def now(self) -> float:
        since = self._since
        return (time.process_time() if since is None else since) - self._aside

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        if self._since is not None:
            yield
            return
        self._since = since = time.process_time()
        try:
            yield
        finally:
            self._aside += time.process_time() - since
            self._since = None


_CLOCK = _Clock()
now = _CLOCK.now
"""The CPU time that counts, in seconds from some beginning."""
uncounted = _CLOCK.uncounted
"""A context for what is done once for all files, and then remembered: no file has to bear its time."""


class OutOfBudget(Exception):  # noqa: N818 - it ends a run, it is no fault
    """The run has used up its steps."""


class OutOfTime(BaseException):
    """The file has used up its seconds."""


class Watchdog:
    """Ends what a thread does when its seconds are over, whatever it is doing.

    Counting steps does not bound what a single step may cost. The watchdog looks at the CPU time of the process, so that a
    busy machine cuts nothing off, and raises `OutOfTime` in the thread that it watches.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        self._target = 0
        self._until: float | None = None
        self._barked = False

    @contextmanager
    def watching(self, seconds: float) -> Iterator[None]:
        """Whatever takes longer than these seconds within is ended.

        Raises:
            OutOfTime: the seconds are over.
        """
        if seconds <= 0:
            raise OutOfTime
        with self._lock:
            self._target, self._barked = threading.get_ident(), False
            self._until = now() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="torch-doctor watchdog", daemon=True)
                self._thread.start()
        arrived = False
        try:
            yield
        except OutOfTime:
            arrived = True
            raise
        finally:
            with self._lock:
                self._until = None
            if self._barked and not arrived:
                _await_what_was_sent()

    def close(self) -> None:
        """End the watchdog itself, which else ends when it has had nothing to watch for a while."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._ends.set()
            thread.join()
            self._ends.clear()

    def _watch(self) -> None:
        idle = 0
        while not self._ends.wait(_TICK):
            with self._lock:
                idle = idle + 1 if self._until is None else 0
                if idle > _PATIENCE:
                    self._thread = None
                    return
                if self._until is not None and now() > self._until:
                    self._until, self._barked = None, True
                    _raise_in(self._target, OutOfTime)


def _await_what_was_sent() -> None:
    """Let an exception that was sent to this thread be raised here, and not later.

    It cannot be taken back: under a profiler or a tracer, CPython 3.11 never comes to an end after that.
    """
    for _ in range(100):
        time.sleep(0)


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an exception in another thread."""
    import ctypes  # noqa: PLC0415 - only where the time is over

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
