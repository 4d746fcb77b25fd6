"""Precedence of TDR111: what a method that was never called explains is not reported a second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import NotCalled

if TYPE_CHECKING:
    from collections.abc import Collection

    from torch_doctor.trace import Event, Trace
    from torch_doctor_rules.judging.family import Family

CONTEXTS = frozenset(("no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast"))
"""The context classes whose missing call TDR111 reports."""


def uncalled(
    trace: Trace,
    method: str,
    targets: Collection[int] = (),
    family: Family | None = None,
    between: tuple[Event | None, Event | None] = (None, None),
) -> bool:
    """Whether `method` of one of the targets was named but not called, in this stretch of the trace.

    Without targets, and for an expression whose object is not known, any counts. With the family, a module counts for
    its parts.
    """
    after, before = between
    first = -1 if after is None else after.index
    last = trace.next if before is None else before.index
    meant = [event.target for event in trace.of(NotCalled) if event.method == method and first < event.index < last]
    return any(
        not targets or not target or target in targets or (family is not None and family.related((target,), targets))
        for target in meant
    )
