"""What unresolved code may do with the result of a forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import GaveUp
from torch_doctor_rules.judging.forward_places import batch_of

if TYPE_CHECKING:
    from torch_doctor.trace import Forward, Trace


def unresolved_after(trace: Trace, forward: Forward) -> bool:
    """Return whether code is unresolved that may use the result."""
    batch = batch_of(forward)
    return any(
        event.index > forward.index
        and (trace.same_iteration(forward, event) if batch is None else batch in event.scope.chain())
        for event in trace.of(GaveUp)
    )
