"""The contract of a batch, as assertions that the user can copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batches import broken, is_dense
from .telling import number

if TYPE_CHECKING:
    from .roles import Roles
    from .sampling import Sample


def assertions(sample: Sample, known: Roles) -> str:
    """Lines of Python about the names of a `batch`."""
    lines = []
    for path, tensors in sample.parts.items():
        first = tensors[0]
        dims = first.dim()
        same = [
            size
            for place, size in enumerate(first.shape)
            if place and all(_size(each, place) == size for each in tensors)
        ]
        if dims > 1 and len(same) == dims - 1:
            lines.append(f"assert {path}.shape[1:] == {tuple(first.shape[1:])}, {path}.shape")
        else:
            lines.append(f"assert {path}.dim() == {dims}, {path}.shape")
        lines.append(f"assert {path}.dtype == {first.dtype}, {path}.dtype")
        if first.is_complex() or not is_dense(first) or not first.numel():
            continue
        if path in known.targets and known.task == "classes" and not first.is_floating_point():
            lines.append(f"assert 0 <= {path}.min() and {path}.max() < {known.classes}, ({path}.min(), {path}.max())")
        elif first.is_floating_point() and all(bool(each.isfinite().all()) or broken(each) for each in tensors):
            lines.append(f"assert {path}.isfinite().all()")
            low, high = _bounds(tensors)
            lines.append(
                f"assert {number(low)} <= {path}.min() and {path}.max() <= {number(high)}, ({path}.min(), {path}.max())"
            )
    return "\n".join(lines)


def _size(tensor: Any, place: int) -> int:
    return int(tensor.shape[place]) if place < tensor.dim() else -1


def _bounds(tensors: list[Any]) -> tuple[float, float]:
    """Round numbers beyond what was seen."""
    values = [
        float(bound) for each in tensors for bound in (each.min(), each.max()) if each.numel() and bound.isfinite()
    ]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    room = max(high - low, 1e-6)
    return _rounded(low - room / 2), _rounded(high + room / 2)


def _rounded(value: float) -> float:
    return float(f"{value:.1g}")
