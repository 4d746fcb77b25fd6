"""Several runs side by side: their order, Ctrl-C once and twice, and the signals that end us."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from torch_doctor.probe.following import Stop
from torch_doctor.probe.running import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("interruptible")


def kill(*numbers: signal.Signals) -> None:
    """Sends signals to this process, a little apart."""
    for number in numbers:
        os.kill(os.getpid(), number)
        time.sleep(0.05)


def ended_by(stop: Stop, said: list[str]) -> Callable[[], str]:
    """A run that goes on until it is asked to end, or made to."""

    def run() -> str:
        said.append("begun")
        while not stop.asked:
            time.sleep(0.01)
        while len(said) == 2 and not stop.at_once:  # the test wants it made to
            time.sleep(0.01)
        return "asked"

    return run


def test_runs_are_side_by_side_and_come_in_their_order() -> None:
    together = threading.Barrier(2, timeout=20)
    first_may_end = threading.Event()

    def first() -> str:
        together.wait()
        assert first_may_end.wait(20)
        return "first"

    def second() -> str:
        together.wait()
        first_may_end.set()
        return "second"

    assert list(side_by_side([first, second], 2, Stop())) == ["first", "second"]


def test_no_more_than_asked_for_are_under_way() -> None:
    under_way: list[int] = []
    most: list[int] = []

    def run() -> None:
        under_way.append(1)
        most.append(len(under_way))
        time.sleep(0.02)
        under_way.pop()

    list(side_by_side([run] * 4, 2, Stop()))
    assert max(most) == 2


def test_one_interruption_lets_runs_tell_what_they_saw() -> None:
    stop, said = Stop(), list[str]()
    threading.Timer(0.1, kill, [signal.SIGINT]).start()
    assert list(side_by_side([ended_by(stop, said)], 1, stop)) == ["asked"]
    assert (stop.asked, stop.at_once) == (True, False)


def test_a_second_one_ends_them_at_once() -> None:
    stop, said = Stop(), ["made to"]
    threading.Timer(0.1, kill, [signal.SIGINT, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        list(side_by_side([ended_by(stop, said)], 1, stop))
    assert stop.at_once


def test_a_request_to_end_ends_the_runs_before() -> None:
    stop, said = Stop(), ["made to"]
    threading.Timer(0.1, kill, [signal.SIGTERM]).start()
    with pytest.raises(SystemExit) as left:
        list(side_by_side([ended_by(stop, said)], 1, stop))
    assert left.value.code == 128 + signal.SIGTERM
    assert stop.at_once


def test_a_run_that_fails_ends_the_others_and_is_told() -> None:
    stop, said = Stop(), ["made to"]

    def fails() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(side_by_side([fails, ended_by(stop, said)], 2, stop))
    assert stop.at_once


def test_signals_are_as_they_were() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert list(side_by_side([lambda: 1], 1, Stop())) == [1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
