"""Scores: what a forward's result is measured by, a loss or whether the class that it chooses is the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Compared, LossCalled, Ranked

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
