"""Graphs that stay alive: values that are kept from batch to batch and never go backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Step
from torch_doctor.trace import Backward, Forward, GaveUp, Handed, Holding, Kept, LoopKind, Trace
from torch_doctor_rules.gradients import fills
from torch_doctor_rules.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope


def leftovers(trace: Trace, *ways: Holding) -> Iterator[Kept]:
    """The values with a graph that outlive their batch in one of these ways and that nobody needs a graph of."""
    yield from first_per_site(
        kept
        for kept in trace.of(Kept)
        if kept.how in ways
        and kept.value.graph is True
        and not kept.bounded
        and any(_outlives(trace, earlier, kept) for earlier in trace.at(*kept.carries))
        and not _needed(trace, kept)
    )


def growth(trace: Trace, kept: Kept) -> Iterator[Step]:
    """Where the graph comes from and where it stays."""
    for forward in trace.at(*sorted(kept.value.graph_forwards)[-1:]):
        yield Step(forward.site, "the graph begins here, once for every batch")
    yield Step(kept.site, "it is kept here together with those of all batches before")


def _outlives(trace: Trace, earlier: object, kept: Kept) -> bool:
    """Whether `earlier` is the same value of an earlier batch."""
    if not isinstance(earlier, Kept) or earlier.site != kept.site or earlier.value.graph is not True:
        return False
    batch = trace.common_loop(kept, earlier)
    return (
        batch is not None
        and batch.loop_kind is not LoopKind.COUNTED
        and not trace.same_iteration(earlier, kept)
        and trace.together(earlier, kept)
        and (batch.loop_kind is LoopKind.BATCHES or _trains(trace, batch))
        and (_trains(trace, batch) or _runs(trace, batch, kept))
    )


def _trains(trace: Trace, batch: Scope) -> bool:
    """Whether the iteration has a backward pass of its own."""
    return any(fills(event) and batch in event.scope.iterations() for event in trace.of(Backward))


def _runs(trace: Trace, batch: Scope, kept: Kept) -> bool:
    """Whether the value comes from a forward of this iteration."""
    return any(
        isinstance(event, Forward) and batch in event.scope.iterations()
        for event in trace.at(*kept.value.graph_forwards)
    )


def _needed(trace: Trace, kept: Kept) -> bool:
    """Whether what was kept may go backward, in sight or out of it."""
    chain = {kept.index, *kept.carries}
    if any(chain & (event.kept | event.loss.kept) for event in trace.of(Backward)):
        return True
    spent = _spent(trace, kept)
    if trace.begins_outside and "." in kept.holder and not spent:
        return True
    if not spent and any(kept.scope in event.scope.chain() for event in trace.of(GaveUp) if event.index > kept.index):
        return True
    return any(
        chain & event.kept and not (spent and (event.returned or kept.how is Holding.ACCUMULATED))
        for event in trace.of(Handed)
    )


def _spent(trace: Trace, kept: Kept) -> bool:
    """Whether the value's graph went backward already and is freed, so that it cannot again."""
    gone = frozenset[int]().union(
        *(
            event.loss.graph_forwards or event.forwards
            for event in trace.of(Backward)
            if event.retain_graph is False and trace.together(event, kept)
        )
    )
    return bool(kept.value.graph_forwards) and kept.value.graph_forwards <= gone
