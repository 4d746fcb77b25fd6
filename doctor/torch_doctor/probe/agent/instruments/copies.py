"""Copies of modules and of what they are given, to be run on the side."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..watching.watch import Watch


def copied(watch: Watch, thing: Any) -> Any:
    """A deep copy, as `duplicate` makes it."""
    return duplicate(watch.torch, thing)


def duplicate(torch: Any, thing: Any) -> Any:
    """A deep copy; tensors with a graph, which torch does not copy, are there without it, wherever they lie."""
    kind, own = torch.Tensor, dict[int, Any]()
    copiers: dict[type, Any] = vars(copy)["_deepcopy_dispatch"]  # what the script copies meanwhile is not ours

    def without_graph(tensor: Any, memo: dict[int, Any]) -> Any:
        if memo is not own or tensor.grad_fn is None:
            return tensor.__deepcopy__(memo)
        return tensor.detach().clone().requires_grad_()

    before = copiers.get(kind)
    copiers[kind] = without_graph
    try:
        return copy.deepcopy(thing, own)
    finally:
        if before is None:
            copiers.pop(kind, None)
        else:
            copiers[kind] = before


def elements(watch: Watch, parameters: Iterable[Any]) -> int:
    """How many numbers parameters have; those of lazy layers that never ran have none yet."""
    return sum(each.numel() for each in parameters if not watch.torch.nn.parameter.is_lazy(each))


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """A module in evaluation mode for a while: functions that its copies share with it may hold parts of the original."""
    flags = [(part, part.training) for part in module.modules()]
    for part, _ in flags:
        part.training = False
    try:
        yield
    finally:
        for part, flag in flags:
            part.training = flag
