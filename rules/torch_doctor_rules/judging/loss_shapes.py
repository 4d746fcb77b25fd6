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


def crossed(left: TensorFact, right: TensorFact) -> bool:
    """Whether one is a column and the other a row of as many numbers: stretched to match they make all pairs."""
    return column_and_row(left, right) or column_and_row(right, left)


def column_and_row(column: TensorFact, row: TensorFact) -> bool:
    """Whether the first is a column and the second a row of as many numbers."""
    if column.shape is None or row.shape is None or len(row.shape) != 1 or len(column.shape) != 2:  # noqa: PLR2004 - a column has two
        return False
    (length, one), (count,) = column.shape, row.shape
    return one == 1 and count not in (None, 1, ANY) and length in (None, ANY, count)
