"""Describes tensors for events: the fields of a `TensorFact` that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph_kinds import kind_of
from .graphs import behind
from .marks import NONE

if TYPE_CHECKING:
    from .marks import Marks


class Facts:
    """Makes descriptions; `lineage` tells for each forward which forwards its inputs came from, `called` of which module."""

    def __init__(self, torch: Any, marks: Marks) -> None:
        self._tensor = torch.Tensor
        self._parameter = torch.nn.Parameter
        self._marks = marks
        self.lineage: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        self.called: dict[int, int] = {}

    def of(self, value: Any, name: str = "", *, source: str = "") -> dict[str, Any]:
        """The fields that describe a value; only its name when it is no tensor."""
        fact: dict[str, Any] = {"name": name} if name else {}
        tensor = value if isinstance(value, self._tensor) else next(iter(self._marks.tensors(value)), None)
        if tensor is None:
            return fact
        mark = kind_of(tensor, self._marks)
        if mark.kind != "unknown":
            fact["kind"] = mark.kind
        if mark.operation_at is not None:
            fact["operation_at"] = mark.operation_at
        if mark.operation:
            fact["operation"] = mark.operation
        node = tensor.grad_fn
        fact["graph"] = node is not None or bool(tensor.requires_grad)
        fact["leaf"] = node is None and bool(tensor.requires_grad) and not isinstance(tensor, self._parameter)
        fact["scalar"] = tensor.numel() == 1
        origin = mark.source if mark.source != "unknown" else source
        if origin:
            fact["source"] = origin
        if mark.loader:
            fact["loader"] = mark.loader
        forwards, graph_forwards, kept = self.history(tensor)
        if forwards:
            fact["forwards"] = sorted(forwards)
        if graph_forwards:
            fact["graph_forwards"] = sorted(graph_forwards)
        if kept:
            fact["retained"] = sorted(kept)
        return fact

    def needs_gradients(self, tensor: Any) -> bool:
        """Whether a tensor that requires gradients and is no parameter went into this one, by no module."""
        found = behind(tensor.grad_fn).leaves if tensor.grad_fn is not None else [tensor]
        return any(leaf.requires_grad and not isinstance(leaf, self._parameter) for leaf in found)

    def meta(self, value: Any) -> dict[str, Any]:
        """A tensor's dtype and shape; nothing for what is no tensor."""
        if not isinstance(value, self._tensor):
            return {}
        return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape)}

    def history(self, tensor: Any) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        """The forwards in a tensor, those that gradients can reach, and the kept values."""
        beside = self._marks.of(tensor).forwards
        node = tensor.grad_fn
        if node is None:
            return self.data_behind(beside), NONE, NONE
        found = behind(node)
        direct = frozenset(found.forwards)
        through = direct.union(*(self.lineage[each][1] for each in direct if each in self.lineage))
        return self.data_behind(direct | beside), through, frozenset(found.retained)

    def data_behind(self, forwards: frozenset[int]) -> frozenset[int]:
        """These forwards and those whose data they got."""
        return forwards.union(*(self.lineage[each][0] for each in forwards if each in self.lineage))
