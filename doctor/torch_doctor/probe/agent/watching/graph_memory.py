"""How much memory autograd's graphs keep."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .graphs import MOST

if TYPE_CHECKING:
    from collections.abc import Iterator


def weight(*nodes: Any, most: int = MOST) -> int:
    """How many bytes the graphs behind the nodes keep in memory, parameters and other leaves left out.

    What a backward pass has freed already weighs nothing. Tensors that share their memory count once.
    """
    waiting, seen = list(nodes), set(nodes)
    leaves: set[int] = set()
    kept: dict[int, int] = {}
    while waiting and len(seen) <= most:
        node = waiting.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(_memory(variable))
            continue
        for tensor in _saved(node):
            kept[_memory(tensor)] = tensor.untyped_storage().nbytes()
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return sum(size for place, size in kept.items() if place not in leaves)


def _saved(node: Any) -> Iterator[Any]:
    """The tensors that a node saved for its backward pass, as far as they are still there."""
    for name in _names(type(node)):  # type: ignore[arg-type]  # classes are hashable
        try:
            value = getattr(node, name)
        except RuntimeError:  # they were freed
            return
        for each in value if isinstance(value, tuple) else (value,):
            if hasattr(each, "untyped_storage") and str(each.layout) == "torch.strided":
                yield each


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if name.startswith("_saved_") or name == "saved_tensors")


def _memory(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())
