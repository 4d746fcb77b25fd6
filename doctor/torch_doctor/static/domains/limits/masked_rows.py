"""Softmaxes with a row that is masked completely, by a triangle that marks the diagonal, too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import padding
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.limits import pairs
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making

if TYPE_CHECKING:
    from torch_doctor.static.values import Value

EXCUSING: Final = frozenset(words("masked_fill masked_fill_ where nan_to_num nan_to_num_"))
"""What replaces the NaN of such a row, and lets no gradient through there."""
_SOFTMAX: Final = frozenset(words("softmax log_softmax"))
_ARRANGED: Final = frozenset(
    words("bool to float type unsqueeze view reshape expand expand_as repeat cuda contiguous dropout")
)
_NEGATIONS: Final = frozenset(words("~ logical_not"))
_SUMS: Final = frozenset(words("+ add"))
_FARTHEST: Final = 8


def masked_row(made: Making) -> Making | None:
    """The record of the triangle that masks a row of a softmax completely; None where nothing shows such a row."""
    if made.name not in _SOFTMAX or not made.args:
        return None
    scores = _arranged(made.args[0])
    if scores is None or len(scores.args) < 2:
        return None
    if scores.name in ("masked_fill", "masked_fill_"):
        fill = argument(scores, 2, "value")
        return _triangle(scores.args[1]) if fill is not None and _is_minus_infinity(fill) else None
    if scores.name in _SUMS:
        found = (_triangle(each, filled=-math.inf) for each in scores.args[:2])
        return next((each for each in found if each is not None), None)
    return None


def _triangle(mask: Value, filled: float = 1) -> Making | None:
    """The triangle of such a number that a mask is, if it marks all elements of the first row."""
    marked = True
    for _ in range(_FARTHEST):
        made = _arranged(mask)
        if made is None or not made.args:
            return None
        if made.name in ("triu", "tril"):
            return made if _marks_first_row(made, filled, marked=marked) else None
        number = made.args[1].value if len(made.args) > 1 and isinstance(made.args[1], Const) else None
        if made.name in _NEGATIONS or (made.name in ("==", "eq") and number == 0):
            marked = not marked
        elif made.name not in ("==", "eq") or number != 1:
            return None
        mask = made.args[0]
    return None


def _marks_first_row(made: Making, filled: float, *, marked: bool) -> bool:
    """Whether `triu` with the diagonal, or what `tril` without it leaves out, is marked."""
    inner = made_of(made.args[0])
    fill = None if inner is None else padding.filled_with(inner)
    diagonal = argument(made, 1, "diagonal") or Const(0)
    if not isinstance(fill, Const) or fill.value != filled or not isinstance(diagonal, Const):
        return False
    number = diagonal.value
    if type(number) is not int:
        return False
    return number <= 0 if made.name == "triu" and marked else made.name == "tril" and not marked and number < 0


def _arranged(value: Value) -> Making | None:
    """How numbers were made, before they were put in another form."""
    made = made_of(value)
    for _ in range(_FARTHEST):
        if (
            made is None
            or not made.args
            or not (made.name in _ARRANGED or (made.name == "[]" and pairs.takes_all(made)))
        ):
            return made
        made = made_of(made.args[0])
    return made


def _is_minus_infinity(value: Value) -> bool:
    return isinstance(value, Const) and value.value == -math.inf
