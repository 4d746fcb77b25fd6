"""An object that nobody makes is made once for all its methods, and each of them begins with it as it was made."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.static.run import Run
from torch_doctor.trace import Forward, GaveUp, ModuleBuilt, OptimizerBuilt, Stepped, Trace, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRAINER = """
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.seen = []

    def train_once(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).sum().backward()
        self.optimizer.step()
        self.seen.append(batch)
        self.model = None

    def train_twice(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).sum().backward()
        self.optimizer.step()
"""
LONG = """
import torch


class Long:
    def __init__(self):
        self.made = make0()

    def first(self):
        return self.made

    def second(self):
        self.made.eval()
"""
CHAIN = 8
LONG += "\n".join(
    f"\n\ndef make{number}():\n    return " + " + ".join([f"make{number + 1}()"] * 4) for number in range(CHAIN)
)
LONG += f"\n\ndef make{CHAIN}():\n    return torch.zeros(2)\n"


@pytest.fixture
def runs_of(write: Callable[..., Path]) -> Callable[[str], list[Trace]]:
    """The traces of a script."""

    def traced(source: str) -> list[Trace]:
        found, report = traces(Options(paths=(write("script.py", source),), rules=()))
        assert not report.errors
        return found

    return traced


def test_the_constructor_is_executed_once(
    runs_of: Callable[[str], list[Trace]], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Counter[str] = Counter()
    emit = Run.emit

    def counting(run: Run, kind: type, node: object, **fields: object) -> object:
        counted[kind.__name__] += 1
        return emit(run, kind, node, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(Run, "emit", counting)
    assert len(runs_of(TRAINER)) == 4  # the file, the object, and each of its methods
    assert counted["OptimizerBuilt"] == 1


def test_each_method_begins_with_the_object_as_it_was_made(runs_of: Callable[[str], list[Trace]]) -> None:
    *_, first, second = runs_of(TRAINER)
    for trace in (first, second):
        assert len(trace.of(OptimizerBuilt)) == len(trace.of(ModuleBuilt)) == 1
        assert len(trace.of(ZeroGrad)) == len(trace.of(Forward)) == len(trace.of(Stepped)) == 1
    assert first.of(OptimizerBuilt) == second.of(OptimizerBuilt)


def test_numbers_of_events_mean_one_event_in_all_runs(runs_of: Callable[[str], list[Trace]]) -> None:
    *_, first, second = runs_of(TRAINER)
    shared = {event.index for event in first.events} & {event.index for event in second.events}
    assert {event.index: event for event in first.events if event.index in shared} == {
        event.index: event for event in second.events if event.index in shared
    }
    for trace in (first, second):
        assert [event.index for event in trace.events] == sorted(event.index for event in trace.events)
        assert list(trace.at(*(event.index for event in trace.events))) == trace.events
        for place, event in enumerate(trace.events):
            assert trace.before(event) == trace.events[:place]
            assert trace.after(event) == trace.events[place + 1 :]
        assert trace.next == trace.events[-1].index + 1
    (forward,) = first.of(Forward)
    assert not list(second.at(forward.index))


def test_no_method_is_run_where_its_constructor_takes_too_much(runs_of: Callable[[str], list[Trace]]) -> None:
    found = runs_of(LONG)
    gave_up = [
        event.site.row for trace in found for event in trace.of(GaveUp) if "exceeds the step limit" in event.reason
    ]
    assert len(gave_up) == 2  # `make0` and `Long`; `second` would be the third
