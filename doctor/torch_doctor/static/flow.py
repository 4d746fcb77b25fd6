"""What a value carries: which forwards, modules and kept values are behind it, and whether a graph hangs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.trace import Source

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from torch_doctor.trace import Tri

    Part = tuple[frozenset[int], tuple[Hashable, frozenset["Part"]]]

NONE: frozenset[Any] = frozenset()
PART = -1
"""Stands, among the events of a flow's rows, for rows that were left out."""
_STRENGTH = {Source.UNKNOWN: 0, Source.NOISE: 1, Source.DATA: 2, Source.LOADER: 3}


class Flow(Struct, frozen=True):
    """The history of a value, as numbers of trace events and objects.

    `forwards` are the forward events whose data is in it, `graph_forwards` those that gradients can still reach, `retained` the
    kept values inside it, `modules` the parameter owners that gradients can reach, `graph` whether an autograd graph hangs
    on it, `source` and `loader` where its data came from. `cuts` are the events that took the graph of something it was
    computed from. `scaled`: a gradient scaler has multiplied it. `divided`: it was
    multiplied or divided since it became a loss. `parts` are the parts, of outputs that nobody has looked into, and the
    results of calls out of sight that are in it, each by its forwards and its place: what is known of one tells nothing of
    the others. `doubtful` are those of the modules that are behind such a part: it may have cut them off. `sums` are the
    events that added up what is surely in it. `rows` are the events that fitted something on the rows in it, or split these
    rows, and `PART` where some rows were left out otherwise. `means`: it is the mean over a batch that these events computed,
    or a list of such means; where there are several, one of them. `chance`: a random transform of a data set made it, or only
    other parts of the same rows. `lost` are the forwards that gradients surely reached until the graph was cut, by whatever.
    """

    graph: Tri = False
    forwards: frozenset[int] = NONE
    graph_forwards: frozenset[int] = NONE
    retained: frozenset[int] = NONE
    modules: frozenset[int] = NONE
    source: Source = Source.UNKNOWN
    loader: int = 0
    cuts: frozenset[int] = NONE
    scaled: Tri = False
    divided: Tri = False
    parts: frozenset[Part] = NONE
    sums: frozenset[int] = NONE
    rows: frozenset[int] = NONE
    means: frozenset[int] = NONE
    doubtful: frozenset[int] = NONE
    chance: Tri = None
    lost: frozenset[int] = NONE

    def cut(self) -> Flow:
        """The same data without a graph (`detach`, `no_grad`)."""
        if self.graph is False and not self.retained:
            return self
        return Flow(
            False,
            self.forwards,
            source=self.source,
            loader=self.loader,
            cuts=self.cuts,
            sums=self.sums,
            rows=self.rows,
            means=self.means,
            chance=self.chance,
            lost=self.lost | self.surely_forwards if self.graph is True else self.lost,
        )

    def part(self, place: Hashable) -> Flow:
        """What one of several parts of a forward's output carries, or what was made of it out of sight.

        Nobody knows what it is: beside a loss there may be scores with a graph, or numbers for a display.
        """
        if self.graph is False or not (self.forwards or self.graph):
            return self
        parts = frozenset(((self.forwards, (place, self.parts)),)) if self.forwards else self.parts
        return replace(self, graph=None, parts=parts, doubtful=self.modules)

    @property
    def surely(self) -> frozenset[int]:
        """The modules that gradients surely reach, where they reach any."""
        return self.modules - self.doubtful

    @property
    def surely_forwards(self) -> frozenset[int]:
        """The forwards that gradients can reach and of which nobody out of sight had the output in hand."""
        return self.graph_forwards.difference(*(forwards for forwards, _ in self.parts))


EMPTY = Flow()
UNSEEN = Flow(graph=None, scaled=None, divided=None)
"""The history of something that came from out of sight."""


def blend(flows: Iterable[Flow]) -> Flow:
    """What a computation over several values carries."""
    result: Flow | None = None
    for flow in flows:
        if result is None or result is EMPTY or (result is UNSEEN and flow.graph is not False):
            result = flow
        elif flow is EMPTY or flow is result or (flow is UNSEEN and result.graph is not False) or flow == result:
            continue
        else:
            stronger = flow if _STRENGTH[flow.source] > _STRENGTH[result.source] else result
            result = Flow(
                _either(result.graph, flow.graph),
                result.forwards | flow.forwards,
                result.graph_forwards | flow.graph_forwards,
                result.retained | flow.retained,
                result.modules | flow.modules,
                stronger.source,
                stronger.loader,
                result.cuts | flow.cuts,
                _either(result.scaled, flow.scaled),
                _either(result.divided, flow.divided),
                result.parts | flow.parts,
                result.sums | flow.sums,
                result.rows | flow.rows,
                result.means | flow.means,
                _doubtful(result, flow),
                True if result.chance or flow.chance else None if None in (result.chance, flow.chance) else False,
                result.lost | flow.lost,
            )
    return result or EMPTY


def alternatives(left: Flow, right: Flow) -> Flow:
    """What is known when a value is one of two: a graph is certain only when both have one."""
    if left is right or left == right:
        return left
    merged = blend((left, right))
    if left.lost != right.lost:
        of_both = all(side.lost or side.forwards for side in (left, right))
        merged = replace(merged, lost=left.lost & right.lost if of_both else merged.lost)
    if left.doubtful or right.doubtful:
        merged = replace(merged, doubtful=merged.modules - (left.surely & right.surely))
    same_sums = left.sums == right.sums and bool(left.means) == bool(right.means)
    if same_sums and (left.graph, left.scaled, left.divided) == (right.graph, right.scaled, right.divided):
        return merged
    return replace(
        merged,
        graph=merged.graph if left.graph == right.graph else None,
        scaled=merged.scaled if left.scaled == right.scaled else None,
        divided=merged.divided if left.divided == right.divided else None,
        sums=left.sums & right.sums,
        means=merged.means if left.means and right.means else NONE,
    )


def _doubtful(left: Flow, right: Flow) -> frozenset[int]:
    """The modules of both histories that gradients surely reach in neither."""
    if not (left.doubtful or right.doubtful):
        return NONE
    return (left.doubtful | right.doubtful) - left.surely - right.surely


def _either(left: Tri, right: Tri) -> Tri:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False
