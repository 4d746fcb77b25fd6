"""Tensors with several numbers for each sample of a batch, and labels that have one for each of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes.comparing import made_of, options
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import words
from torch_doctor.static.values import Plain, shapes

if TYPE_CHECKING:
    from torch_doctor.static.values import Making, Value
    from torch_doctor.static.values.shapes import Shape

_TRANSPOSED: Final = frozenset(words("t T mT"))


def rows_of(value: Value) -> Shape | None:
    """The shape of a tensor that has several numbers for each sample of a batch, which come first."""
    shape = measured(value).shape
    several = shape is not None and len(shape) > 1 and shape[0] == shapes.BATCH and shape.count(shapes.BATCH) == 1
    return shape if several and shape is not None and any(size != 1 for size in shape[1:]) else None


def is_table(value: Value, reduction: str) -> bool:
    """Whether a tensor has several numbers for each sample; a choice may be one among those of pairs of samples, too."""
    shape = measured(value).shape or ()
    pairs = reduction == "argmax" and len(shape) > 1 and 1 not in shape[1:]
    return pairs or rows_of(value) is not None


def is_for_rows(labels: Value, table: Value) -> bool:
    """Whether labels have one number for each row of a table: by their size, or as they count its rows."""
    shape = measured(table).shape or ()
    if shape[:1] == (shapes.BATCH,) and measured(labels).shape == (shapes.BATCH,):
        return True
    made = made_of(options(labels)[0])
    counted = made.args[0] if made is not None and made.name == "arange" and len(made.args) == 1 else None
    size = counted.size if isinstance(counted, Plain) else None
    return size is not None and size.name == "size" and _untransposed(size.args[0]) is _untransposed(table)


def _untransposed(value: Value) -> Making | None:
    """The record of a matrix, or of the one that it is the transpose of."""
    made = made_of(options(value)[0])
    while made is not None and made.name in _TRANSPOSED and made.args:
        made = made_of(options(made.args[0])[0])
    return made
