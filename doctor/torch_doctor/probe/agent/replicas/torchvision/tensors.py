"""Changes of tensors of pictures that both their functions and the pictures themselves make."""

from __future__ import annotations

import math
from typing import Any


def resized(data: Any, size: tuple[int, int], *, nearest: bool = False) -> Any:
    """A tensor of another height and width."""
    from torch.nn import functional

    shape = (-1, 1, *data.shape[-2:])
    mode: dict[str, Any] = {} if nearest else {"mode": "bilinear", "antialias": True}
    whole = functional.interpolate(data.float().reshape(shape), size, **mode)
    whole = whole.reshape(*data.shape[:-2], *size)
    return whole if data.is_floating_point() else whole.round().clamp(0, 255).to(data.dtype)


def cut(data: Any, top: int, left: int, height: int, width: int) -> Any:
    """A part of a tensor, with zeros beyond its edge."""
    from torch.nn import functional

    rows, columns = data.shape[-2:]
    beyond = (max(0, -left), max(0, left + width - columns), max(0, -top), max(0, top + height - rows))
    padded = functional.pad(data, beyond) if any(beyond) else data
    top, left = max(0, top), max(0, left)
    return padded[..., top : top + height, left : left + width]


def turned(data: Any, angle: float) -> Any:
    """A tensor turned by an angle in degrees, with zeros beyond its edge."""
    import torch
    from torch.nn import functional

    radians = math.radians(angle)
    turn = torch.tensor([[math.cos(radians), -math.sin(radians), 0.0], [math.sin(radians), math.cos(radians), 0.0]])
    whole = data.float().reshape(1, -1, *data.shape[-2:])
    grid = functional.affine_grid(turn[None], list(whole.shape), align_corners=False)
    found = functional.grid_sample(whole, grid, align_corners=False).reshape(data.shape)
    return found if data.is_floating_point() else found.round().to(data.dtype)
