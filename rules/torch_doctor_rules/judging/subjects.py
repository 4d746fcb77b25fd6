"""What rules are about that not every training script has; asked of traces of the probe, which has all events.

The events are looked up by their names: a rule does not read those that only tell whether it matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.trace import EVENTS, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace import Trace


def _of(trace: Trace, name: str) -> Iterable[Any]:
    return trace.of(EVENTS[name])


def _with(name: str, *events: str) -> Subject:
    """A subject that any of these events shows."""
    return Subject(name, lambda trace: any(_of(trace, each) for each in events))


def _loss(name: str, *parts: str) -> Subject:
    """A loss that has one of these parts in its name, in whatever way it is written."""
    return Subject(
        name,
        lambda trace: any(
            part in event.loss.lower().replace("_", "") for event in _of(trace, "LossCalled") for part in parts
        ),
    )


def _evaluates(trace: Trace) -> bool:
    return any(event.training is False for event in _of(trace, "ModeSet")) or any(
        event.grad is False or event.training is False for event in _of(trace, "Forward")
    )


def _accumulates(trace: Trace) -> bool:
    return len(list(_of(trace, "Backward"))) > len(list(_of(trace, "Stepped"))) > 0


ACCUMULATION = Subject("accumulation", _accumulates)
ADAPTERS = _with("adapters", "AdapterTrained")
AVERAGES = _with("averaged weights", "AverageKept")
AVERAGED_NORMS = _with("averaged batch norm", "AveragedNormsRan")
BINARY_LOSSES = _loss("binary losses", "bce", "binarycrossentropy")
CHECKPOINTS = _with("checkpoints", "Saved", "Loaded")
CLASS_LOSSES = _loss("losses of classes", "crossentropy", "nll")
DIFFERENCES = _loss("distances", "mse", "l1", "huber")
DIVERGENCES = _loss("divergences", "kldiv")
EVALUATION = Subject("an evaluation", _evaluates)
FREEZINGS = Subject(
    "a freezing",
    lambda trace: (
        any(_of(trace, "Thawed")) or any(each.module in each.norms and not each.whole for each in _of(trace, "ModeSet"))
    ),
)
FROZEN_PARTS = _with("frozen parts", "FrozenMoved", "FrozenNormsRan")
LIKELIHOODS = _loss("log-likelihoods", "nll")
LOGARITHMS = _with("logarithms", "LogTaken")
RANKINGS = _with("rankings", "Compared", "Ranked")
RECTIFIED_UNITS = _with("rectified units", "UnitsSeen")
SCHEDULES = _with("schedules", "SchedulerBuilt", "SchedulerStepped")
WORKERS = Subject("workers", lambda trace: any(each.workers for each in _of(trace, "LoaderBuilt")))
WRAPPERS = _with("wrapped models", "Wrapped")
