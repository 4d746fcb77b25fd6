"""Values that outlive the statement that keeps them: running sums, containers, attributes."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ... import claims, hooks
from ..graph_memory import weight
from ..graphs import behind
from ..marks import on_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...nodes import Node
    from ..watch import Watch

MOST = 48  # events that one place writes
LOOKED_AT = 256  # items of a holder that are looked at
SEVERAL = 3  # graphs: one is the pass's own, one may be left in a variable from the pass before
FURTHEST = 4000  # nodes that one look into a holder's graph visits


class Sentinel:
    """An object on a node of the graph: it is alive for as long as the node is."""

    __slots__ = ("__weakref__",)


class Keep:
    """A value that a statement is about to keep, and its holder."""

    __slots__ = ("holder", "tensors")

    def __init__(self) -> None:
        self.holder: Any = None
        self.tensors: list[Any] = []


class Watcher:
    """Is called before and after every statement that may keep something."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._tensor = watch.torch.Tensor
        self._recorder = watch.recorder
        self._nodes = watch.recorder.index.nodes
        self._open: dict[int, Keep] = {}
        self._plain: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._numbers: dict[int, set[int]] = {}
        self._sentinels: dict[int, list[weakref.ref[Sentinel]]] = {}
        self._weighed: set[int] = set()

    def install(self) -> None:
        """Puts what instrumented code calls in place."""
        hooks.put("keep", self._keep)
        hooks.put("held", self._held)
        hooks.put("after", self._after)
        self._recorder.at_end.append(self._count)

    # --- what instrumented code calls ---

    def _held(self, key: int, holder: Any) -> Any:
        keep = self._open.get(key)
        if keep is None:
            keep = self._open[key] = Keep()
        keep.holder = holder
        return holder

    def _keep(self, key: int, value: Any) -> Any:
        kind = type(value)
        if kind is float or kind is int or kind is str or value is None:
            self._plain[key] = self._plain.get(key, 0) + 1
            if kind is float or kind is int:
                self._watch.sums.adding(key, value)
            return value
        if isinstance(value, self._tensor):
            if value.grad_fn is not None:
                self._recorder.safely(self._watch.plain_tensors.moved, key, value)
                self._noted(key, [value])
            else:
                self._watch.sums.adding(key, value)
                self._recorder.safely(self._watch.plain_tensors.assigned, key, value)
                self._plain[key] = self._plain.get(key, 0) + 1
        elif kind is list or kind is tuple or kind is dict or kind is set:
            self._watch.containers.assigned(key, value)
            found = [each for each in self._watch.marks.tensors(value) if each.grad_fn is not None]
            if found:
                self._noted(key, found)
        return value

    def _noted(self, key: int, tensors: list[Any]) -> None:
        keep = self._open.get(key)
        if keep is None:
            keep = self._open[key] = Keep()
        keep.tensors = tensors

    def _after(self, key: int, now: Any = None) -> None:
        keep = self._open.pop(key, None)
        self._watch.sums.added(key, None if keep is None else keep.holder, now)
        if (
            keep is not None
            and keep.tensors
            and self._written.get(key, 0) < MOST
            and not self._recorder.quiet
            and not self._recorder.rests()
        ):
            self._recorder.safely(self._tell, key, keep, now)
        if self._nodes[key].touches:
            self._watch.gradients.touched(key)

    def _count(self, _: BaseException | None) -> None:
        """Tells of the places where numbers and detached values alone were kept."""
        for key, times in self._plain.items():
            if key not in self._written:
                site = self._recorder.index.site(key)
                self._recorder.measured(claims.KEPT_WITHOUT_GRAPH, times, "times", site=site)

    # --- events ---

    def _tell(self, key: int, keep: Keep, now: Any) -> None:
        recorder, node = self._recorder, self._nodes[key]
        here = recorder.here()
        if here.frame is None:
            return
        self._written[key] = self._written.get(key, 0) + 1
        value = keep.tensors[0]
        earlier = self._earlier(key, node, keep, now)
        number = recorder.scopes.events
        fact = self._watch.facts.of(value, node.value)
        self._numbers.setdefault(key, set()).add(number)
        for tensor in keep.tensors:
            sentinel = Sentinel()
            on_node(tensor.grad_fn).setdefault("kept", {})[number] = sentinel
            self._sentinels.setdefault(key, []).append(weakref.ref(sentinel))
        recorder.event(
            "Retained",
            here,
            site=recorder.index.site(key),
            value=fact,
            how=node.how,
            holder=node.text,
            carries=sorted(earlier),
            bounded=isinstance(keep.holder, deque) and keep.holder.maxlen is not None,
        )
        self._measure(key, number, keep, now)

    def _earlier(self, key: int, node: Node, keep: Keep, now: Any) -> set[int]:
        """The events of this place whose values the holder still has inside."""
        found: set[int] = set()
        for tensor in self._inside(node, keep, now):
            found |= self._kept_behind(key, tensor.grad_fn)
        return found

    def _inside(self, node: Node, keep: Keep, now: Any) -> Iterator[Any]:
        """The tensors with a graph that the holder has inside."""
        holder = keep.holder
        if node.how in {"accumulated", "concatenated"} and holder is None:
            candidates = [now]
        elif node.name and holder is not None:
            candidates = [getattr(holder, "__dict__", {}).get(node.name)]
        elif isinstance(holder, dict):
            candidates = list(holder.values())[-LOOKED_AT:]
        elif isinstance(holder, (list, deque, set, tuple)):
            candidates = list(holder)[-LOOKED_AT:]
        else:
            candidates = [holder]
        for candidate in candidates:
            for tensor in self._watch.marks.tensors(candidate):
                if tensor.grad_fn is not None:
                    yield tensor

    def _kept_behind(self, key: int, node: Any) -> set[int]:
        return behind(node, most=FURTHEST).retained & self._numbers.get(key, set())

    def _measure(self, key: int, number: int, keep: Keep, now: Any) -> None:
        """How many graphs are alive that this place keeps, and once, what one of them takes in memory."""
        alive = sum(each() is not None for each in self._sentinels[key])
        if alive < SEVERAL:
            return
        site = self._recorder.index.site(key)
        self._recorder.measured(claims.GRAPHS_ALIVE, alive, "graphs", site=site, about=[number])
        if key not in self._weighed:
            self._weighed.add(key)
            nodes = {tensor.grad_fn for tensor in self._inside(self._nodes[key], keep, now)}
            each = weight(*nodes) // max(alive, 1)
            if each:
                self._recorder.measured(claims.GRAPH_BYTES, each, "bytes", site=site, about=[number])
