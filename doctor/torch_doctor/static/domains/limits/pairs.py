"""Differences of a set with itself, whose diagonal is 0, and elements that are chosen by an index that the values gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.tables import words
from torch_doctor.static.tables.shapes import DRAWN
from torch_doctor.static.values import Const, Making, Plain, Sequence, Tensor, Unknown, shapes

if TYPE_CHECKING:
    from torch_doctor.static.values import Value

_SPREADING: Final = frozenset(words("unsqueeze expand expand_as"))
_ARRANGING: Final = frozenset(words("t T mT transpose view reshape repeat repeat_interleave contiguous clone float"))
_DRAWING: Final = frozenset(words("multinomial argmax max"))
_DEEP: Final = 8


def with_itself(one: Value, other: Value) -> bool:
    """Whether two operands have the same numbers, each spread along another dimension."""
    (left, first), (right, second) = _root(one), _root(other)
    if left is None or right is None or first == second:
        return False
    same = left is right or (made_of(left) is not None and made_of(left) is made_of(right))
    return same and isinstance(left, (Tensor, Unknown))


def same(one: Value, other: Value) -> bool:
    """Whether two values are the same tensor."""
    return one is other or (made_of(one) is not None and made_of(one) is made_of(other))


def takes_all(made: Making) -> bool:
    """Whether an index only inserts dimensions: `x[:, None]`."""
    key, index = made.of, made.args[1]
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    values = index.content.items if parts != (key,) and isinstance(index, Sequence) else (index,)
    if len(parts) != len(values):
        return False
    for part, value in zip(parts, values, strict=True):
        if isinstance(part, p.Slice):
            if not (part.lower is part.upper is part.step is None):
                return False
        elif not (isinstance(value, Const) and (value.value is None or value.value is Ellipsis)):
            return False
    return True


def drawn_from(index: Value, value: Value) -> bool:
    """Whether an index was drawn by these probabilities, or is the place of the largest: none of what it chooses is 0."""
    if isinstance(index, Plain):
        index = shapes.read_from(index.size) or index
    for _ in range(_DEEP):
        made = made_of(index)
        if made is not None and made.name == "indices":
            made = made_of(made.args[0])  # the largest, which come with their places
        if made is None or not made.args:
            return False
        if made.name == DRAWN:
            return bool(made.of) and same(
                made.args[0], value
            )  # a class of a `Categorical` that has these probabilities
        if made.name in _DRAWING:
            return same(made.args[0], value)
        if made.name not in _SPREADING | _ARRANGING | {"[]", "squeeze"}:
            return False
        index = made.args[0]
    return False


def _root(value: Value) -> tuple[Value | None, tuple[object, ...]]:
    """What was spread, and how."""
    steps: list[object] = []
    for _ in range(_DEEP):
        made = made_of(value)
        if made is None or not made.args:
            break
        if made.name in _SPREADING | _ARRANGING:
            given = [each.value if isinstance(each, Const) else None for each in made.args[1:]]
            steps.append((made.name, *map(str, given), *map(str, made.keywords)))
        elif made.name == "[]" and takes_all(made):
            index = made.args[1]
            items = index.content.items if isinstance(index, Sequence) else (index,)
            steps.append(tuple(isinstance(each, Const) for each in items))
        else:
            break
        value = made.args[0]
    return value, tuple(steps)
