"""Walks through autograd's graph: what is behind a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .marks import noted, on_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 20_000  # nodes that one walk looks at
FURTHEST = 40  # nodes between a tensor and what gave it its kind
SCALED = frozenset({"MulBackward", "DivBackward", "NegBackward"})
"""Nodes whose result is a score where they got one, when they multiply by a number."""
TERMS = frozenset({"AddBackward", "SubBackward", "SumBackward", "MeanBackward", "ViewBackward", "SqueezeBackward"})
"""Nodes that put a loss together from its terms."""


EACH = frozenset(
    f"{name}Backward"
    for name in (
        *("Pow", "Abs", "Exp", "Log", "Log1P", "Sqrt", "Tanh", "Sigmoid", "LogSigmoid", "Relu", "Softplus", "Minimum"),
        *("Maximum", "Clamp", "ClampMin", "ClampMax", "Where", "MaskedFill", "NanToNum"),
    )
)
"""Nodes that compute each element for itself."""
ELEMENTWISE_LOSSES = ("MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy")
TOTALS = frozenset(("MeanBackward0", "SumBackward0"))
"""Nodes that sum up all elements."""
SUMS = frozenset(f"{name}Backward" for name in ("Add", "Sub", "Neg", "ToCopy", "Clone"))
PRODUCTS = frozenset(("MulBackward", "DivBackward"))
PRODUCTS_TOO, ANYTHING = 1, 2
"""What is computed of elements before they are summed up, where that is more than sums."""


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


def summed(losses: Iterable[Any]) -> list[dict[str, Any]]:
    """What was stretched to match where losses sum up all elements of the result, and get another value by that."""
    found = {}
    for note, way in [each for loss in losses for each in _summed(loss.grad_fn)]:
        if way or note["operation"] in ("product", "quotient"):
            found[note["site"]] = {"linear": way < ANYTHING and note["operation"] != "difference"} | note
    return [*found.values()]


def _summed(node: Any) -> Iterator[tuple[dict[str, Any], int]]:
    """What was stretched to match behind a node, and what is computed of it before all elements are summed up."""
    waiting: list[tuple[Any, bool, int]] = [(node, False, 0)]
    seen: set[tuple[Any, bool, int]] = set()
    while waiting and len(seen) < MOST:
        node, whole, way = waiting.pop()
        if node is None or (node, whole, way) in seen:
            continue
        seen.add((node, whole, way))
        name, notes = node.name(), noted(node)
        bare = name.rstrip("0123456789")
        if name in TOTALS:
            whole = True
        elif bare.startswith(ELEMENTWISE_LOSSES):
            whole, way = whole or getattr(node, "_saved_reduction", 0) > 0, ANYTHING
        elif bare in EACH:
            way = ANYTHING
        elif bare not in SUMS and bare not in PRODUCTS:
            continue
        if notes is not None and "stretched" in notes and whole:
            yield notes["stretched"], way
        if bare in PRODUCTS and whole and way == 0 and not by_a_number(node):
            way = PRODUCTS_TOO
        waiting += [(following, whole, way) for following, _ in node.next_functions]


def by_a_number(node: Any) -> bool:
    """Whether a product or quotient has one tensor in it, and a number."""
    if node.name().startswith("Neg"):
        return True
    if len(node.next_functions) > 1 and node.next_functions[1][0] is not None:
        return False
    try:
        other = getattr(node, "_saved_other", None)
    except RuntimeError:  # a backward pass has freed it
        return False
    return other is None or getattr(other, "dim", int)() == 0


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


def divisor(node: Any) -> float | None:
    """The whole number that a loss was last divided by, before a backward pass frees it; None if there is none."""
    for _ in range(FURTHEST):
        if node is None or not node.name().startswith(("Div", "Mul", "Add")):
            return None
        if node.name().startswith("Div"):
            other = node._saved_other if by_a_number(node) else None
            return float(other) if other is not None and float(other).is_integer() and float(other) >= 1 else None
        node = node.next_functions[0][0]
    return None


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
        elif name in SCALED and not of_ctc(node):
            divided = True
        elif name not in TERMS:
            continue
        waiting += [following for following, _ in node.next_functions]
    return scaled, divided


def of_ctc(node: Any) -> bool:
    """Whether a quotient is part of the mean of `ctc_loss`, which divides the loss of each target by its length."""
    for _ in range(2):  # infinite losses may be replaced
        node = next((each for each, _ in node.next_functions if each is not None), None)
        if node is None:
            return False
        if "CtcLoss" in node.name():
            return True
    return False
