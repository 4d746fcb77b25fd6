"""Norms of tensors, of one and of several together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def norm(torch: Any, tensor: Any) -> float:
    """Return the norm of a tensor, in float64 where the squares of its numbers overflow in float32."""
    values = tensor.detach()
    values = values.abs() if values.is_complex() else values
    found = float(torch.linalg.vector_norm(values, dtype=torch.promote_types(values.dtype, torch.float32)))
    if finite(found) or values.device.type == "mps" or not bool(values.isfinite().all()):
        return found
    return float(torch.linalg.vector_norm(values.double()))


def total(norms: Iterable[float]) -> float:
    """Return the norm of all tensors together."""
    return float(sum(each * each for each in norms) ** 0.5)


def finite(value: float) -> bool:
    """Return whether a number is neither NaN nor infinite."""
    return value - value == 0
