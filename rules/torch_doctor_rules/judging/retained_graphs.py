"""Retained graphs: values with a history that outlive their batch and never go backward."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Step
from torch_doctor.trace import Backward, Escaped, Forward, GaveUp, LoopKind, Retained, Retention, Stepped, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact, number, numbers, size
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope

PLAIN = claims.KEPT_WITHOUT_GRAPH
LEAST_GROWTH = 2
"""Passes after the first in which something has to have stayed alive, if it ever does."""


def retained(trace: Trace, *ways: Retention) -> Iterator[Retained]:
    """The values with a graph that outlive their batch in one of these ways and that nobody needs a graph of.

    What has its graphs from a running sum is not among them: these are gone where nothing is added to the sum with its graph.
    """
    lasting = [kept for kept in trace.of(Retained) if _lasts(trace, kept)]
    sums = {kept.site for kept in lasting if kept.how is Retention.ACCUMULATED and not _needed(trace, kept)}
    # In a run, whatever shares the graph of a value counts as a holder of it, not only what the value was read from.
    summed = {kept.index: kept.site for kept in trace.of(Retained) if kept.site in sums and not trace.observed}
    yield from first_per_site(
        kept
        for kept in lasting
        if kept.how in ways
        and not any(summed[index] != kept.site for index in kept.value.retained & summed.keys())
        and not _needed(trace, kept)
    )


def _lasts(trace: Trace, kept: Retained) -> bool:
    """Whether a value with a graph outlives its batch."""
    return (
        kept.value.graph is True
        and not kept.bounded
        and any(_outlives(trace, earlier, kept) for earlier in trace.at(*kept.carries))
    )


def growth(trace: Trace, kept: Retained) -> Iterator[Step]:
    """Yield where the graph is created and where it is stored."""
    for forward in trace.at(*sorted(kept.value.graph_forwards)[-1:]):
        yield Step(forward.site, "every batch creates a graph here")
    yield Step(kept.site, "it is stored here, along with the graphs of all earlier batches")


def in_one_loop(kept: Retained) -> str:
    """Return the cause for the values that one holder collects in one loop."""
    return f"{kept.holder} in {kept.scope.iterations()[-1].site}"


def reached(trace: Trace, finding: Finding) -> bool | str:
    """Whether what was kept there had no graph, or its graphs were gone by the next batches, or needed."""
    kept = at(trace, finding.site, Retained)
    if not kept and not counted(trace, finding.site, PLAIN):
        came = trace.run is not None and trace.run.came_to(finding.site)
        return came is True and "the probe does not track values that are stored in this way"
    if not kept:
        return True
    again = [last for first, last in pairwise(kept) if not trace.same_iteration(first, last)]
    if any(last.carries and not last.bounded and not _needed(trace, last) for last in again):
        return "graphs stay alive, but possibly on purpose"
    if any(numbers(trace, claims.GRAPHS_ALIVE, *kept)) and not any(last.bounded for last in kept):
        return "graphs stay alive, but the probe run does not show what holds them"
    return len(again) >= LEAST_GROWTH


def alive(trace: Trace, finding: Finding) -> Iterator[Evidence]:
    """How many graphs were alive in the end, and what each takes."""
    kept = at(trace, finding.site, Retained)
    found = list(numbers(trace, claims.GRAPHS_ALIVE, *kept))
    if not found:
        often = counted(trace, finding.site, PLAIN)
        if often:
            yield fact(f"stored {count(often, 'time')}, never with a graph", often, "times")
        elif kept:
            stayed = {index for later in kept for index in later.carries if index != later.index}
            how = "none is alive" if not stayed else f"{len(stayed)} {'is' if len(stayed) == 1 else 'are'} alive"
            yield fact(
                f"of {count(len(kept), 'graph')} stored, {how} one iteration later", len(stayed), "graphs", kept[0]
            )
        return
    most, graphs = max(found, key=lambda pair: pair[1])
    loops = {scope.loop for scope in most.scope.iterations()[-1:]}
    passes = [
        each for each in kept if each.index <= most.index and loops & {scope.loop for scope in each.scope.chain()}
    ]
    each = number(trace, claims.GRAPH_BYTES, *kept)
    weight = f", {size(each)} each" if each else ""
    text = f"{count(graphs, 'graph')} alive after {count(max(len(passes), graphs), 'step')}{weight}"
    yield fact(text, graphs, "graphs", most)


def _outlives(trace: Trace, earlier: object, kept: Retained) -> bool:
    """Whether `earlier` is the same value of an earlier batch, or the forward that its graph begins with."""
    if not isinstance(earlier, (Retained, Forward)):
        return False
    if isinstance(earlier, Retained) and (earlier.site != kept.site or earlier.value.graph is not True):
        return False
    batch = trace.common_loop(kept, earlier)
    return (
        batch is not None
        and batch.loop_kind is not LoopKind.COUNTED
        and not _within_a_batch(trace, batch)
        and not trace.same_iteration(earlier, kept)
        and trace.together(earlier, kept)
        and (batch.loop_kind is LoopKind.BATCHES or _trains(trace, batch))
        and (_survives_updates(trace, earlier, kept) if _trains(trace, batch) else _runs(trace, batch, kept))
    )


def _within_a_batch(trace: Trace, iteration: Scope) -> bool:
    """Whether it is a loop over parts of one batch, or of one update: what outlives only these is gone with that."""
    around = () if iteration.parent is None else iteration.parent.iterations()
    if any(scope.loop_kind is LoopKind.BATCHES for scope in around):
        return True
    updated = {scope.loop for event in trace.of(Stepped) for scope in event.scope.iterations()}
    perhaps = {scope.loop for event in trace.of(Escaped) if event.optimizers for scope in event.scope.iterations()}
    plain = iteration.loop_kind is LoopKind.PLAIN
    return plain and iteration.loop not in updated and any(scope.loop in updated | perhaps for scope in around)


def _survives_updates(trace: Trace, earlier: Retained | Forward, kept: Retained) -> bool:
    """Whether there is an update between both, where that is known: a run shows how many passes make one."""
    return not trace.observed or any(trace.between(earlier, kept, Stepped))


def _trains(trace: Trace, batch: Scope) -> bool:
    """Whether the iteration has a backward pass of its own."""
    return any(fills(event) and batch in event.scope.iterations() for event in trace.of(Backward))


def _runs(trace: Trace, batch: Scope, kept: Retained) -> bool:
    """Whether the value comes from a forward of this iteration."""
    return any(
        isinstance(event, Forward) and batch in event.scope.iterations()
        for event in trace.at(*kept.value.graph_forwards)
    )


def _needed(trace: Trace, kept: Retained) -> bool:
    """Whether what was kept may go backward, in sight or out of it."""
    chain = frozenset((kept.index, *kept.carries))
    own = chain if trace.observed else chain - _of_summands(trace, kept)
    if any(_goes_back(trace, own & (event.retained | event.loss.retained), event) for event in trace.of(Backward)):
        return True
    spent = _spent(trace, kept)
    if trace.begins_outside and "." in kept.holder and not spent:
        return True
    if not spent and any(kept.scope in event.scope.chain() for event in trace.of(GaveUp) if event.index > kept.index):
        return True
    return any(
        chain & event.retained and not (spent and (event.returned or kept.how is Retention.ACCUMULATED))
        for event in trace.of(Escaped)
    )


def _of_summands(trace: Trace, kept: Retained) -> frozenset[int]:
    """What was added up to make the values that a sum has: it goes backward with each of them, and not with the sum."""
    others = (event for event in trace.at(*kept.carries) if isinstance(event, Retained) and event.holder != kept.holder)
    return frozenset(event.index for event in others if not _around(event, kept))


def _around(inner: Retained, kept: Retained) -> bool:
    """Whether something was kept by no loop of its own: it belongs to the loop that keeps the other."""
    return len(inner.scope.iterations()) <= len(kept.scope.iterations())


def _goes_back(trace: Trace, kept: frozenset[int], backward: Backward) -> bool:
    """Whether the backward pass is of something kept, and not merely of what its own pass has also kept.

    A run sees that it is one tensor; the static witness writes only what was read from where it is kept.
    """
    if not trace.observed:
        return bool(kept)
    own = backward.scope.chain()
    return any(not set(event.scope.iterations()[-1:]) <= set(own) for event in trace.at(*kept))


def _spent(trace: Trace, kept: Retained) -> bool:
    """Whether the value's graph went backward already and is freed, so that it cannot again."""
    gone = frozenset[int]().union(
        *(
            event.loss.graph_forwards or event.forwards
            for event in trace.of(Backward)
            if event.retain_graph is False and trace.together(event, kept)
        )
    )
    return bool(kept.value.graph_forwards) and kept.value.graph_forwards <= gone
