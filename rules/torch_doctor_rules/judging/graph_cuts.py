"""Losses that go backward although the graph of what they were computed from was cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import Backward, Forward, GraphCut, Kind, LeafMade, claims
from torch_doctor_rules.judging.gradients import accumulates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace

REFUSED = claims.LOSSES_WITHOUT_GRAPH
NUMBERS = frozenset(("item", "float", "int", "tolist", "numpy", "__float__", "__array__"))
"""What reads numbers out of a tensor: for a log as well, so that the fault is where a tensor is made of them again."""
DECIDING = frozenset(
    ("argmax", "argmin", "max", "min", "topk", "sort", "argsort", "mode", "kthvalue", "median", "round", "int", "long")
)
"""What makes a decision of a score: nothing that comes after it can have a gradient."""
COMPARISONS = frozenset("><=!")


class Cut(Struct, frozen=True):
    """A loss that goes `backward` without its graph, and where that was lost, by what; `raises`: torch takes no such loss."""

    site: Site
    how: str
    loss: str
    backward: Site
    raises: bool


class Cuts:
    """The losses of one trace that have lost their graph."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._leaves = {event.leaf: event for event in trace.of(LeafMade)}
        self._backward = [event for event in trace.of(Backward) if accumulates(event)]

    def of_losses(self) -> Iterator[Cut]:
        """Every such loss."""
        for backward in self._backward:
            if backward.inputs_only or backward.weighted is not False:
                continue
            cut = self._seen(backward) if self.trace.observed else self._rebuilt(backward) or self._without(backward)
            if cut is not None:
                yield cut
        for site in refused(self.trace):
            last = last_trainable(self.trace)
            if last is not None and last.grad is True:
                yield Cut(site, "", "", site, raises=True)

    def _rebuilt(self, backward: Backward) -> Cut | None:
        """A loss that is nothing but a new tensor with old numbers, or is computed from such tensors alone."""
        made = [self._leaves[module] for module in backward.modules if module in self._leaves]
        if not made or len(made) < len(backward.modules) or not backward.whole or backward.loss.graph_forwards:
            return None
        behind = [cut for leaf in made for cut in self._behind(leaf.value.cuts)]
        if not (backward.loss.leaf or all(map(_decides, behind))) or self._goes_backward(behind, backward):
            return None
        first, leaf = min(behind, key=lambda cut: cut.index), made[0]
        site, how = (leaf.site, "") if first.how in NUMBERS else (first.site, first.how)
        return Cut(site, how, backward.name, backward.site, raises=False)

    def _without(self, backward: Backward) -> Cut | None:
        """A loss that requires no gradients, although the forwards behind it do."""
        loss = backward.loss
        behind = self._behind(loss.cuts)
        forwards = [event for event in self.trace.at(*loss.forwards) if isinstance(event, Forward)]
        if (
            loss.graph is not False
            or not behind
            or not forwards
            or not all(event.grad is True and event.trainable is True for event in forwards)
            or self._goes_backward(behind, backward)
        ):
            return None
        first = min(behind, key=lambda cut: cut.index)
        return Cut(first.site, first.how, backward.name, backward.site, raises=True)

    def _seen(self, backward: Backward) -> Cut | None:
        """A loss of a run that has no history, beside a forward of its iteration that never goes backward."""
        if not backward.loss.leaf:
            return None
        idle = any(
            forward.grad and forward.trainable and forward.index < backward.index
            for forward in self._idle()
            if self.trace.same_iteration(backward, forward)
        )
        return Cut(backward.site, "", backward.name, backward.site, raises=False) if idle else None

    def _idle(self) -> list[Forward]:
        """The forwards that never go backward."""
        trained = frozenset[int]().union(*(event.loss.graph_forwards for event in self._backward))
        return [forward for forward in self.trace.of(Forward) if forward.index not in trained]

    def _behind(self, cuts: frozenset[int]) -> list[GraphCut]:
        return [event for event in self.trace.at(*cuts) if isinstance(event, GraphCut)]

    def _goes_backward(self, behind: list[GraphCut], backward: Backward) -> bool:
        """Whether what was cut goes backward by itself: the cut is how gradients are cached."""
        forwards = frozenset[int]().union(*(cut.value.graph_forwards for cut in behind))
        return any(other.loss.graph_forwards & forwards for other in self._backward if other is not backward)


def refused(trace: Trace) -> list[Site]:
    """Where `backward()` did not take a loss for want of a graph."""
    found = [] if trace.run is None else trace.run.measurements(REFUSED)
    return list(dict.fromkeys(each.site for each in found if each.site is not None))


def last_trainable(trace: Trace) -> Forward | None:
    """The last forward of a module that can be trained: the one of the step that failed, where a run ended so."""
    return next((forward for forward in reversed(trace.of(Forward)) if forward.trainable is True), None)


def _decides(cut: GraphCut) -> bool:
    """Whether nothing can go backward after it: it took a loss, or made a decision of scores."""
    return cut.value.kind is Kind.LOSS or cut.how in DECIDING or not COMPARISONS.isdisjoint(cut.how)
