"""Runs several scripts side by side, and ends them where somebody does not want to wait."""

from __future__ import annotations

import contextlib
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from torch_doctor.probe.following import Stop

T = TypeVar("T")


def side_by_side(runs: Sequence[Callable[[], T]], jobs: int, stop: Stop) -> Iterator[T]:
    """What runs return, in their order, `jobs` of them at a time.

    Ctrl-C asks those under way to tell what they saw and begins no other; a second one ends them at once, as do requests
    to end ourselves. Nothing is left running.

    Raises:
        KeyboardInterrupt: there was a second Ctrl-C.
        SystemExit: we have to end.
    """
    with _heard(stop), ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="probe") as threads:
        begun = [threads.submit(run) for run in runs]
        try:
            for each in begun:
                yield each.result()
        except BaseException:
            stop.now()
            threads.shutdown(wait=True, cancel_futures=True)
            raise


@contextlib.contextmanager
def _heard(stop: Stop) -> Iterator[None]:
    """Has the signals that end us end the runs before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(_: int, __: FrameType | None) -> None:
        stop.ask()
        if stop.at_once:
            raise KeyboardInterrupt

    def leave(number: int, _: FrameType | None) -> None:
        stop.now()
        raise SystemExit(128 + number)

    handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
        signal.SIGTERM: leave,
        signal.SIGHUP: leave,
    }
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in a job in the background
        handlers[signal.SIGINT] = interrupted
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
