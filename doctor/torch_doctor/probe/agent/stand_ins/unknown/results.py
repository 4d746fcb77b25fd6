"""What a stand-in computes: of the form that a rehearsal has learnt, a function of its inputs and of its one weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..batches.making import Batch
from ..batches.parts import LEAF, MAPPING, OBJECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEPTH = 3
PROBABILITIES = 2  # `high` of numbers from 0 to 1


def tensors_in(value: Any, torch: Any, depth: int = DEPTH) -> Iterator[Any]:
    """The tensors in arguments, in containers of Python, too."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each, torch, depth - 1)
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each, torch, depth - 1)


class ResultMaker:
    """Makes what a stand-in returns.

    Args:
        torch: the module.
        learnt: the form, as a rehearsal tells it.
        shapes: those of the inputs in the rehearsal.
    """

    def __init__(self, torch: Any, learnt: dict[str, Any], shapes: Sequence[Sequence[int]]) -> None:
        self._torch = torch
        self._learnt = learnt
        self._shapes = [tuple(shape) for shape in shapes]

    def of(self, inputs: Sequence[Any], weight: Any, parts: Sequence[Any]) -> Any:
        """The value for these inputs; `weight` and `parts` (parameters of what it holds) get gradients."""
        numbers = [each for each in inputs if each.is_floating_point()]
        factor = weight if weight is not None else self._torch.ones((), device=inputs[0].device if inputs else None)
        for part in parts:
            factor = factor + 0.0 * part.sum()
        return self._made(self._learnt, numbers, list(inputs), factor)

    def _made(self, learnt: dict[str, Any], numbers: list[Any], inputs: list[Any], factor: Any) -> Any:
        form = learnt["form"]
        if form == LEAF:
            return self._leaf(learnt.get("spec"), numbers, inputs, factor)
        parts = {key: self._made(part, numbers, inputs, factor) for key, part in learnt["parts"]}
        if form == MAPPING:
            return parts
        if form == OBJECT:
            return Batch(parts)
        empty = {"form": LEAF}
        whole = range(max(parts, default=-1) + 1)
        return tuple(parts[place] if place in parts else self._made(empty, numbers, inputs, factor) for place in whole)

    def _leaf(self, spec: Any, numbers: list[Any], inputs: list[Any], factor: Any) -> Any:
        torch = self._torch
        if spec is None:  # a number that is told or added up
            return sum((each.mean() for each in numbers), torch.zeros(())).detach()
        shape, dtype, high = self._fitted(spec[0], inputs), getattr(torch, spec[1]), spec[2]
        if not dtype.is_floating_point:
            return torch.zeros(shape, dtype=dtype)
        same = next((each for each in numbers if tuple(each.shape) == shape), None)
        if same is not None and high != PROBABILITIES:
            return same * factor
        count = 1
        for size in shape:
            count *= size
        base = torch.sin(torch.arange(count, dtype=dtype, device=factor.device)).reshape(shape)
        for each in numbers:
            base = base + _per_row(each, shape)
        made = base * factor
        return torch.sigmoid(made) if high == PROBABILITIES else made

    def _fitted(self, shape: Sequence[int], inputs: list[Any]) -> tuple[int, ...]:
        """The shape as learnt, with those of its sides that the inputs had, as these have them now."""
        sides = list(shape)
        for before, each in zip(self._shapes, inputs):  # noqa: B905 - Python 3.9 has no `strict`
            for place, size in enumerate(shape):
                if place < min(len(before), each.dim()) and before[place] == size:
                    sides[place] = each.shape[place]
            if before and each.dim() and sides and before[0] == shape[0]:
                break
        return tuple(sides)


def _per_row(tensor: Any, shape: tuple[int, ...]) -> Any:
    """The mean of each row, where there is one for each row of the result; else of all."""
    if shape and tensor.dim() and tensor.shape[0] == shape[0] and tensor.numel():
        return tensor.reshape(shape[0], -1).mean(1).reshape(shape[0], *(1,) * (len(shape) - 1))
    return tensor.mean() if tensor.numel() else 0.0
