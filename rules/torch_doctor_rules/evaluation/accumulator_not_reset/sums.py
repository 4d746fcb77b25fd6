"""Sums that hold earlier passes of the loop in which they are averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Averaged, BatchTaken, LoaderBuilt, LoopKind, Summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace import Scope, Trace


def outlived(trace: Trace, average: Averaged) -> Summed | None:
    """The last addition of a sum with earlier passes of a loop around the average, where that is meant for one pass."""
    sums = [event for event in trace.at(*average.sums) if isinstance(event, Summed)]
    by = [event for event in trace.at(*average.by) if isinstance(event, Summed)]
    for around in average.scope.iterations():
        now = [event for event in sums if _lies(event, around) and _batch_loop_within(event, around)]
        before = [event for event in sums if _earlier(event, around)]
        per_pass = all(_lies(event, around) for event in by) if by else _is_length(trace, average, now, around)
        if now and before and per_pass and not any(_shares_inner(average, event, around) for event in now):
            return now[-1]
    return None


def _is_length(trace: Trace, average: Averaged, now: Iterable[Summed], around: Scope) -> bool:
    """Whether the divisor is the length of the loader that the sum goes through, or of its dataset."""
    loops = {scope.loop for event in now for scope in _within(event, around)}
    taken = {event.loader for event in trace.of(BatchTaken) if any(s.loop in loops for s in event.scope.iterations())}
    datasets = {event.dataset for event in trace.of(LoaderBuilt) if event.loader in taken}
    return average.length != 0 and average.length in taken | datasets


def _lies(event: Summed, around: Scope) -> bool:
    return any(scope is around for scope in event.scope.iterations())


def _earlier(event: Summed, around: Scope) -> bool:
    return any(scope.loop == around.loop and scope.number < around.number for scope in event.scope.iterations())


def _batch_loop_within(event: Summed, around: Scope) -> bool:
    """Whether it was added batch by batch within the pass."""
    return any(scope.loop_kind is LoopKind.BATCHES for scope in _within(event, around))


def _shares_inner(average: Averaged, event: Summed, around: Scope) -> bool:
    """Whether the division lies in the loop over batches itself."""
    loops = {scope.loop for scope in _within(event, around)}
    return any(scope.loop in loops for scope in _within(average, around))


def _within(event: Averaged | Summed, around: Scope) -> tuple[Scope, ...]:
    scopes = event.scope.iterations()
    return scopes[next(i for i, scope in enumerate(scopes) if scope is around) + 1 :]
