"""Instruments that ask models questions take no more than a part of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
import torch

from torch_doctor.probe.agent import discovery, instruments
from torch_doctor.probe.agent.watching import questions
from torch_doctor.probe.agent.watching.instrument_hooks import InstrumentHooks
from torch_doctor.probe.agent.watching.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """A clock that goes on when an instrument says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def process_time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in ("questions", "watch"):
        monkeypatch.setattr(f"torch_doctor.probe.agent.watching.{module}.time", found)
    return found


@pytest.fixture
def watch(clock: Clock) -> Watch:
    assert clock.now
    return Watch(torch, Mock(failures=0, safely=lambda call, *given: call(*given)), Mock())


@pytest.fixture
def instrument(clock: Clock) -> Callable[[str, float], Any]:
    """An instrument that takes so many seconds for each step."""

    def make(name: str, seconds: float) -> InstrumentHooks:
        def step(*_: object) -> None:
            clock.now += seconds

        return type("Slow", (InstrumentHooks,), {"__module__": f"instruments.{name}", "before_step": step})()  # type: ignore[no-any-return]  # an instrument

    return make


def steps(watch: Watch, clock: Clock, often: int, seconds: float) -> None:
    for _ in range(often):
        clock.now += seconds
        watch.tell(InstrumentHooks.before_step, None, Mock())


def test_questions_may_take_a_quarter_of_the_run(
    watch: Watch, clock: Clock, instrument: Callable[[str, float], Any]
) -> None:
    watch.instruments = [instrument("mixing", 1.0), instrument("foresight", 1.0)]
    steps(watch, clock, often=10, seconds=7.0)
    assert len(watch.instruments) == 2


def test_questions_that_take_longer_are_left_out_in_order(
    watch: Watch, clock: Clock, instrument: Callable[[str, float], Any]
) -> None:
    watch.instruments = [instrument("foresight", 2.0), instrument("shuffled", 2.0), instrument("finite", 2.0)]
    steps(watch, clock, often=1, seconds=1.0)
    assert [questions.name_of(each) for each in watch.instruments] == ["foresight", "finite"]
    steps(watch, clock, often=1, seconds=1.0)
    assert [questions.name_of(each) for each in watch.instruments] == ["finite"]
    assert "in a quarter of the time, and were left out: shuffled" in watch.recorder.note.call_args_list[0].args[0]  # type: ignore[attr-defined]  # a mock


def test_a_short_script_is_asked_everything(
    watch: Watch, clock: Clock, instrument: Callable[[str, float], Any]
) -> None:
    watch.instruments = [instrument("shuffled", 0.3), instrument("mixing", 0.3)]
    steps(watch, clock, often=3, seconds=0.1)
    assert len(watch.instruments) == 2


def test_what_only_records_is_never_left_out(
    watch: Watch, clock: Clock, instrument: Callable[[str, float], Any]
) -> None:
    watch.instruments = [instrument("finite", 5.0)]
    steps(watch, clock, often=5, seconds=0.1)
    assert len(watch.instruments) == 1


def test_the_order_names_instruments_that_there_are() -> None:
    names = {name.rpartition(".")[2] for name in discovery.names(instruments)}
    assert set(questions.ORDER) <= names
