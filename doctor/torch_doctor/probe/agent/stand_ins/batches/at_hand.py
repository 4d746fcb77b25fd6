"""What the user's frames hold that tells of a batch: models, and how many classes there seem to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..source import Sources

CLASSES = 10  # where nothing tells how many there are


def models(torch: Any, sources: Sources) -> Iterator[Any]:
    """The models at hand: of the user's frames, the innermost first, and of their objects."""
    kind, seen = torch.nn.Module, set()
    for value in (value for space in _spaces(sources) for value in list(space.values())):
        held = {} if isinstance(value, (kind, type)) else getattr(value, "__dict__", {})
        for each in (value, *held.values()):
            if isinstance(each, kind) and id(each) not in seen and any(True for _ in each.parameters()):
                seen.add(id(each))
                yield each


def classes(torch: Any, sources: Sources) -> int:
    """How many classes there seem to be: by a name for their number, else by the largest label at hand."""
    largest = 0
    for name, value in (item for space in _spaces(sources) for item in list(space.items())):
        if type(value) is int and "class" in name.lower() and value > 1:
            return value
        if isinstance(value, torch.Tensor) and type(value) is not Wanted and value.dtype == torch.int64:
            largest = max(largest, int(value.max()) + 1 if value.numel() else 0)
    return max(largest, CLASSES)


def _spaces(sources: Sources) -> Iterator[dict[str, Any]]:
    return (space for frame in sources.frames() for space in (frame.f_locals, frame.f_globals))
