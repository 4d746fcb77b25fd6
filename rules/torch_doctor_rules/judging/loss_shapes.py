"""Shapes of what losses are given: how many dimensions, and over how many classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_doctor.trace import TensorFact

ANY = "..."
"""Stands first in a shape that may have any number of other dimensions before."""


def rank(fact: TensorFact) -> int | None:
    """The number of dimensions; None where it is not known."""
    return None if fact.shape is None or ANY in fact.shape else len(fact.shape)


def classes(fact: TensorFact) -> int | None:
    """Over how many classes the scores go; None where it is not known."""
    shape = fact.shape
    if not shape:
        return None
    size = shape[-1] if shape[0] == ANY or len(shape) == 1 else shape[1]
    return size if isinstance(size, int) else None


def shown(fact: TensorFact) -> str:
    """The shape as people write it; `B` is the batch."""
    words: dict[int | str | None, str] = {None: "?", "batch": "B"}
    return "[" + ", ".join(str(words.get(size, size)) for size in fact.shape or (ANY,)) + "]"
