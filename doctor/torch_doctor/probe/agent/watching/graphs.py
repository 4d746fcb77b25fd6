"""Walks through autograd's graph: what is behind a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .marks import noted, on_node

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 20_000  # nodes that one walk looks at
FURTHEST = 40  # nodes between a tensor and what gave it its kind
SCALED = frozenset({"MulBackward", "DivBackward", "NegBackward"})
"""Nodes whose result is a score where they got one, when they multiply by a number."""
TERMS = frozenset({"AddBackward", "SubBackward", "SumBackward", "MeanBackward", "ViewBackward", "SqueezeBackward"})
"""Nodes that put a loss together from its terms."""


class Behind:
    """What a walk through the graph found."""

    __slots__ = ("broadcasts", "complete", "forwards", "leaves", "nodes", "retained")

    def __init__(self) -> None:
        self.broadcasts: list[dict[str, Any]] = []
        self.forwards: set[int] = set()
        self.retained: set[int] = set()
        self.leaves: list[Any] = []
        self.nodes = 0
        self.complete = True


def behind(node: Any, *, leaves: bool = False, most: int = MOST) -> Behind:  # noqa: C901 - one loop over the nodes
    """Goes through the graph from a node back.

    Without `leaves` it stops at results of forwards: what is behind them is known. With `leaves` it goes on to the
    tensors that get gradients.
    """
    found = Behind()
    if node is None:
        return found
    waiting = [node]
    seen = {node}
    while waiting:
        node = waiting.pop()
        found.nodes += 1
        if found.nodes > most:
            found.complete = False
            break
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.leaves.append(variable)
            continue
        notes = noted(node)
        if notes is not None:
            kept = notes.get("kept")
            if kept:
                found.retained.update(kept)
            if "broadcast" in notes:
                found.broadcasts.append(notes["broadcast"])
            forwards = notes.get("forwards")
            if forwards:
                found.forwards.update(forwards)
                if not leaves:
                    continue
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return found


def gone_through(nodes: Iterable[Any], keeps: int | None) -> tuple[set[int], bool]:
    """The places that kept something of the graph from these nodes on, for another pass; whether all of it was looked at.

    `keeps` is the place that keeps all of it from now on, for who asks next.
    """
    waiting = [node for node in nodes if node is not None]
    seen, found = set(waiting), set()
    while waiting and len(seen) <= MOST:
        node = waiting.pop()
        if hasattr(node, "variable"):
            continue
        if (before := (noted(node) or {}).get("kept_at")) is not None:
            found.add(before)
        if keeps is not None:
            on_node(node)["kept_at"] = keeps
        fresh = [after for after, _ in node.next_functions if after is not None and after not in seen]
        seen.update(fresh)
        waiting += fresh
    return found, not waiting


def treated(node: Any) -> tuple[bool, bool]:
    """Whether a gradient scaler multiplied what a node gives, and whether anything else did since it became a loss."""
    scaled = divided = False
    waiting, depth = [node], 0
    while waiting and depth < FURTHEST:
        node, depth = waiting.pop(), depth + 1
        if node is None:
            continue
        name, notes = node.name().rstrip("0123456789"), noted(node)
        if notes is not None and notes.get("scaled"):
            scaled = True
        elif name in SCALED:
            divided = True
        elif name not in TERMS:
            continue
        waiting += [following for following, _ in node.next_functions]
    return scaled, divided
