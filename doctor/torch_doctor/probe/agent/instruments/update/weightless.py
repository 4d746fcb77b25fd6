"""Losses that weigh nothing for now."""

from __future__ import annotations

from typing import Any

NODES = 200  # of a graph that are looked at, from the loss on


def has_weight_zero(losses: list[Any]) -> bool:
    """Whether one of the last operations before a loss multiplies by a number that is 0."""
    nodes = [loss.grad_fn for loss in losses if loss.grad_fn is not None]
    for node in nodes:
        if node.name() == "MulBackward0" and any(_is_zero(node, name) for name in ("_saved_self", "_saved_other")):
            return True
        if len(nodes) < NODES:
            nodes.extend(after for after, _ in node.next_functions if after is not None)
    return False


def _is_zero(node: Any, name: str) -> bool:
    try:
        value = getattr(node, name, None)
    except RuntimeError:  # somebody went backward through it before, and what it had saved is freed
        return False
    return value is not None and value.dim() == 0 and not bool(value.detach())
