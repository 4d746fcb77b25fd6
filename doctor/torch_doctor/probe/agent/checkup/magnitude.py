"""Norms of tensors, of one and of several together, and the usual one of several numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def norm(torch: Any, tensor: Any) -> float:
    """Return the norm of a tensor, in float64 where the squares of its numbers overflow in float32."""
    values = tensor.detach()
    values = values.abs() if values.is_complex() else values
    found = float(torch.linalg.vector_norm(values, dtype=torch.promote_types(values.dtype, torch.float32)))
    if math.isfinite(found) or values.device.type == "mps" or not bool(values.isfinite().all()):
        return found
    return float(torch.linalg.vector_norm(values.double()))


def total(norms: Iterable[float]) -> float:
    """Return the norm of all tensors together."""
    return float(sum(each * each for each in norms) ** 0.5)


def middle(values: Sequence[float]) -> float:
    """Return the upper median of some numbers; 0 where there are none."""
    return sorted(values)[len(values) // 2] if values else 0.0
