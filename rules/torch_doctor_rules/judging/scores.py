"""Scores: what a forward's result is measured by, a loss or whether the class that it chooses is the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Compared, LoopKind, LossCalled, Ranked, Retained

if TYPE_CHECKING:
    from torch_doctor.trace import Forward, Trace


def is_scored(trace: Trace, forward: Forward) -> bool:
    """Whether the result goes into a loss, or the largest of it is compared with labels."""
    losses = (event.input for event in trace.of(LossCalled))
    chosen = (
        event.input
        for compared in trace.of(Compared)
        for event in trace.at(compared.chosen)
        if isinstance(event, Ranked)
    )
    return any(forward.index in tensor.forwards for tensor in (*losses, *chosen))


def is_scored_once(trace: Trace, forward: Forward) -> bool:
    """Whether every batch is used once and its result goes into a score."""
    iterations = forward.scope.iterations()
    if not iterations or iterations[-1].loop_kind is not LoopKind.BATCHES:
        return False
    kept = (event.value for event in trace.of(Retained) if event.value.graph is True)
    return is_scored(trace, forward) or any(forward.index in value.forwards for value in kept)
