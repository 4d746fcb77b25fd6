"""Objects that add up results of an evaluation, pass after pass, and are never set back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import ADDED, BEGUN, READ, Backward, Forward, LoopKind, Stepped, TallyUsed
from torch_doctor_rules.judging.passes import Passes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope, Trace


_LIST = "list"


def kept(trace: Trace) -> Iterator[tuple[TallyUsed, TallyUsed]]:
    """Each such object by the place that first adds to it, and the place that reads it after a pass.

    It is evaluated again after the model was trained further, so that its result is of several states of the model. If it gets
    results of training passes, too, those of an evaluation include them.
    """
    found: dict[int, list[TallyUsed]] = {}
    for event in trace.of(TallyUsed):
        found.setdefault(event.tally, []).append(event)
    for events in found.values():
        added = [event for event in events if event.how == ADDED]
        evaluated = [event for event in added if _evaluates(trace, event)]
        pair = next(((first, second) for first in evaluated[:1] for second in evaluated if _again(first, second)), None)
        if pair is None or any(event.how == BEGUN and event.index > pair[0].index for event in events):
            continue
        if any(event.class_name == _LIST and event.guards for event in added):  # perhaps the first few, as examples
            continue
        around, names = _shared(*pair), {event.name for event in evaluated}
        read = [event for event in events if event.how == READ and pair[0].index < event.index < pair[1].index]
        read = [event for event in read if around in event.scope.iterations()]
        alike = added == evaluated or not any(event.listed or event.name not in names for event in added)
        if read and alike and _same_model(trace, *pair) and _trains(trace, *pair):
            yield pair[0], read[0]


def _shared(first: TallyUsed, second: TallyUsed) -> Scope | None:
    """The first event's pass through the innermost loop around the loops over batches, if the second lies in a later pass."""
    outer = first.scope.iterations()
    later = {scope.loop: scope.number for scope in second.scope.iterations()}
    batches = next((place for place, scope in enumerate(outer) if scope.loop_kind is LoopKind.BATCHES), 0)
    around = outer[batches - 1] if batches else None
    return around if around is not None and later.get(around.loop, 0) > around.number else None


def _again(first: TallyUsed, second: TallyUsed) -> bool:
    return first.site == second.site and _shared(first, second) is not None


def _models(trace: Trace, event: TallyUsed) -> set[int]:
    return {each.module for each in trace.at(*event.forwards) if isinstance(each, Forward)}


def _same_model(trace: Trace, first: TallyUsed, second: TallyUsed) -> bool:
    return bool(_models(trace, first)) and _models(trace, first) == _models(trace, second)


def _trains(trace: Trace, first: TallyUsed, second: TallyUsed) -> bool:
    """Whether an optimizer steps between two events, after new gradients."""
    return bool(list(trace.between(first, second, Backward)) and list(trace.between(first, second, Stepped)))


def _evaluates(trace: Trace, event: TallyUsed) -> bool:
    """Whether only results of passes that train nothing are added."""
    passes = trace.view(Passes)
    return all(
        (forward.grad is False or forward.training is False)
        and not passes.goes_backward(forward)
        and not passes.beside(forward)
        for forward in trace.at(*event.forwards)
        if isinstance(forward, Forward)
    )
