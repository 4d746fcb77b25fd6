"""Copies of modules and of what they are given, to be run on the side."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..watching.watch import Watch


def copied(watch: Watch, thing: Any) -> Any:
    """A deep copy; tensors with a graph, which torch does not copy, are there without it."""
    memo: dict[int, Any] = {}
    parts = [thing] if isinstance(thing, watch.torch.nn.Module) else []
    held = [list(vars(part).values()) for whole in parts for part in whole.modules()]
    for tensor in (*watch.marks.tensors(thing), *watch.marks.tensors(held)):
        if tensor.grad_fn is not None:
            memo[id(tensor)] = tensor.detach().clone().requires_grad_()
    return copy.deepcopy(thing, memo)


def elements(watch: Watch, parameters: Iterable[Any]) -> int:
    """How many numbers parameters have; those of lazy layers that never ran have none yet."""
    return sum(each.numel() for each in parameters if not watch.torch.nn.parameter.is_lazy(each))
