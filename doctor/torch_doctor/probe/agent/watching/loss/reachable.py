"""Reads from autograd's graph whether a tensor can have a value at which the layer before it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph_kinds import SAME

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 12
CLAMP, ROUNDING, SINGLE, ROW = "clamp", "rounding", "single", "row"
ARRANGING = SAME - {"CatBackward", "StackBackward", "NativeDropoutBackward", "ConstantPadNdBackward", "IndexBackward"}
CHOOSING = ("GatherBackward", "IndexBackward")
BOUNDED = {"Sigmoid": (1.0,), "Softmax": (1.0,), "Tanh": (1.0, -1.0)}
"""Functions whose result becomes these numbers when it is rounded."""
STOPPING = frozenset(
    f"{name}Backward"
    for name in (
        "Relu",
        "Threshold",
        "Hardtanh",
        "Where",
        "MaskedFill",
        "Cdist",
        "EuclideanDist",
        "IndexPut",
        "Hardsigmoid",
    )
)
"""Nodes that let no gradient through where they give an end of their range."""
THROUGH = ARRANGING | {f"{name}Backward" for name in ("Sum", "Mean", "Pow", "Sqrt", "Mul", "Div", "Index", "Clone")}


def can_be(torch: Any, tensor: Any, place: float) -> str:
    """Why a tensor can have a value: "clamp" or "rounding"; "" where that is not known."""
    node = _arranged(tensor.grad_fn)
    if node is None:
        return ""
    with torch.no_grad():
        for why, value in _ends(torch, node, tensor.dtype):
            if value == place:
                return why
        if _bare(node) == "RsubBackward":
            inner = _arranged(node.next_functions[0][0])
            before = _result(torch, inner)
            if before is None or not torch.equal(1 - before.flatten(), tensor.detach().flatten()):
                return ""
            for why, value in _ends(torch, inner, tensor.dtype):
                if float(1 - torch.tensor(value, dtype=tensor.dtype)) == place:
                    return why
    return ""


def is_chosen(node: Any) -> bool:
    """Whether a node, before its numbers were put in another order, chose elements by an index."""
    for _ in range(DEEPEST):
        if node is None:
            return False
        name = _bare(node)
        if name in CHOOSING or (name == "SelectBackward" and _takes_one(node)):
            return True
        if name not in ARRANGING:
            return False
        node = node.next_functions[0][0]
    return False


def _takes_one(node: Any) -> bool:
    """Whether a number selects one element of each row, in the last dimension: `shares[action]` of a single sample."""
    sizes = len(node._saved_self_sym_sizes)
    return node._saved_dim in (sizes - 1, (1 << 64) - 1)


def stopped(node: Any) -> bool:
    """Whether gradients stop, behind a node, where the numbers are 0: a ReLU before squares and sums."""
    for _ in range(DEEPEST):
        if node is None:
            return False
        name = _bare(node)
        if name in STOPPING:
            return True
        following = {after for after, _ in node.next_functions if after is not None}
        if name not in THROUGH or len(following) != 1:
            return False
        node = following.pop()
    return False


def _ends(torch: Any, node: Any, dtype: Any) -> Iterator[tuple[str, float]]:
    """The ends of what a node gives, in the precision of a dtype."""
    node = node.next_functions[0][0] if _bare(node) == "GatherBackward" else node
    name = "" if node is None else _bare(node)
    if name in ("ClampBackward", "ClampMinBackward", "ClampMaxBackward"):
        for bound in (getattr(node, "_saved_min", None), getattr(node, "_saved_max", None)):
            if bound is not None and getattr(bound, "numel", int)() <= 1:
                yield CLAMP, float(torch.as_tensor(bound, dtype=dtype))
    elif name in ("MaximumBackward", "MinimumBackward"):
        given = [side for side in (node._saved_self, node._saved_other) if not side.requires_grad]
        if given and given[0].numel() and bool((given[0] == given[0].flatten()[0]).all()):
            yield CLAMP, float(given[0].flatten()[0])
    for function, values in BOUNDED.items():
        if name == f"{function}Backward" and dtype != torch.float64:
            yield from ((ROUNDING, value) for value in values)
    if name == "PowBackward" and getattr(node._saved_exponent, "numel", int)() <= 1:
        power, inner = float(node._saved_exponent), _arranged(node.next_functions[0][0])
        yield from ((why, value**power) for why, value in _ends(torch, inner, dtype) if value or power > 0)
    if name == "ExpBackward" and dtype != torch.float64 and bool((node._saved_result <= 1).all()):
        yield ROUNDING, 1.0


def _result(torch: Any, node: Any) -> Any:
    """What a node has computed; None where it does not tell."""
    name = "" if node is None else _bare(node)
    if name in ("SigmoidBackward", "SoftmaxBackward", "TanhBackward", "ExpBackward"):
        return node._saved_result
    if name == "PowBackward":
        base = _result(torch, _arranged(node.next_functions[0][0]))
        return None if base is None else base**node._saved_exponent
    if name in ("ClampBackward", "ClampMinBackward", "ClampMaxBackward"):
        low, high = getattr(node, "_saved_min", None), getattr(node, "_saved_max", None)
        return torch.clamp(node._saved_self, low, high)
    if name == "GatherBackward":
        before = _result(torch, node.next_functions[0][0])
        dim = node._saved_dim
        dim = dim if before is None or dim < before.dim() else dim - (1 << 64)
        return None if before is None else before.gather(dim, node._saved_index)
    return None


def _arranged(node: Any) -> Any:
    """The node that computed the numbers, before they were put in another order."""
    for _ in range(DEEPEST):
        if node is None or _bare(node) not in ARRANGING or _bare(node) == "GatherBackward":
            return node
        node = node.next_functions[0][0]
    return node


def _bare(node: Any) -> str:
    return str(node.name()).rstrip("0123456789")
