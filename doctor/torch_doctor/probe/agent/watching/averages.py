"""Weights that follow others: a target network, an average, a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

CLOSE = 1e-3  # how far the numbers may be off, beside how far they moved
ROUNDED = 2  # units in the last place that each number may be off


def followed(torch: Any, old: Any, new: Any, others: Iterable[Any], parts: Collection[float]) -> float:
    """Which part of the way to another tensor, or to zero, a tensor went; 0 where there is nothing of the kind.

    A single number is always on some way: the part has to be one of those that other tensors went.
    """
    if not new.is_floating_point():
        return 0.0
    before = old.double()
    moved = new.double() - before
    slack = CLOSE * float(moved.norm()) + ROUNDED * torch.finfo(new.dtype).eps * float(before.norm())
    for way in (-before, *(other.detach().double() - before for other in others)):
        length = float(way.norm())
        part = float((moved * way).sum()) / length**2 if length else 0.0
        for each in [part] if new.numel() > 1 else parts:
            if 0 < each <= 1 + CLOSE and float((moved - each * way).norm()) <= slack:
                return each
    return 0.0
