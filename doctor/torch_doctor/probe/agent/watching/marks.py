"""What is known of tensors: marks on the nodes of autograd's graph, and beside tensors that have none."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

NONE: frozenset[int] = frozenset()
KEY = "torch-doctor"
DEEPEST = 3  # containers within containers that are looked into for tensors
LARGEST = 64  # items of one that are looked at


@dataclass(frozen=True)
class Mark:
    """What a tensor is: its kind and where it got it, where its data came from, the forwards that are in it."""

    kind: str = "unknown"
    operation_at: int | None = None
    operation: str = ""
    source: str = "unknown"
    forwards: frozenset[int] = NONE
    loader: int = 0
    stretched: Any = None  # what was stretched to match within it, as the note on a node


NOTHING = Mark()


class Marks:
    """Marks beside tensors, for as long as these live."""

    def __init__(self, torch: Any) -> None:
        self._tensor = torch.Tensor
        self._beside: dict[int, tuple[weakref.ref[Any], Mark]] = {}

    def put(self, tensor: Any, mark: Mark) -> None:
        """Sets what is known of a tensor."""
        key = id(tensor)
        beside = self._beside

        def forget(gone: weakref.ref[Any]) -> None:
            if key in beside and beside[key][0] is gone:
                del beside[key]

        beside[key] = (weakref.ref(tensor, forget), mark)

    def update(self, tensor: Any, **changes: Any) -> None:
        """Adds to what is known of a tensor."""
        self.put(tensor, replace(self.of(tensor), **changes))

    def of(self, tensor: Any) -> Mark:
        """What is known of a tensor, or of the tensor that it is a view of."""
        found = self._beside.get(id(tensor))
        if found is not None and found[0]() is tensor:
            return found[1]
        base = tensor._base
        if base is not None:
            found = self._beside.get(id(base))
            if found is not None and found[0]() is base:
                return found[1]
        return NOTHING

    def tensors(self, value: Any, depth: int = DEEPEST) -> Iterable[Any]:
        """The tensors in a value: itself, the items of containers, the fields of a model's output."""
        if isinstance(value, self._tensor):
            yield value
        elif depth and isinstance(value, (tuple, list)):
            for each in value[:LARGEST]:
                yield from self.tensors(each, depth - 1)
        elif depth and isinstance(value, dict):
            for each in list(value.values())[:LARGEST]:
                yield from self.tensors(each, depth - 1)
        elif depth and hasattr(value, "__dict__") and not isinstance(value, type):
            fields = vars(value)
            if len(fields) <= LARGEST:
                for each in list(fields.values()):
                    if isinstance(each, self._tensor):
                        yield each


def on_node(node: Any) -> dict[str, Any]:
    """The agent's own notes on a node of the graph, made when there are none."""
    metadata = node.metadata
    notes = metadata.get(KEY)
    if notes is None:
        notes = metadata[KEY] = {}
    return notes  # type: ignore[no-any-return]


def noted(node: Any) -> dict[str, Any] | None:
    """The notes on a node, if any."""
    return node.metadata.get(KEY)  # type: ignore[no-any-return]
