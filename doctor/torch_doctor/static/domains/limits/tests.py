"""Tests of numbers that decide branches: what they keep out of the values that a branch computes with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Plain, Value, shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPARING: Final = ("<", ">", "<=", ">=", "==", "!=")
_COMPARED: Final = frozenset((*COMPARING, *words("lt gt le ge eq ne less greater less_equal greater_equal not_equal")))
_COMBINED: Final = frozenset(words("any all item bool ~ logical_not & | logical_and logical_or"))
_KEEPING: Final = frozenset(
    words("item detach clone abs max min amax amin sum mean float clamp clamp_min relu squeeze view")
)
_DEEP: Final = 4


def sides(operands: tuple[Value, ...]) -> set[Making]:
    """The records of tensors that a comparison with a number is about, or of those that its sides were read from."""
    if not any(isinstance(each, (Const, Plain)) for each in operands):
        return set()
    return {made for each in operands if (made := _record(each)) is not None}


def tested(value: Value) -> Iterator[Making]:
    """Yield the records of what a truth was computed of: `d > 0`, `(d == 0).any()`."""
    waiting = [(value, 0)]
    while waiting:
        given, deep = waiting.pop()
        made = _record(given)
        if made is None or deep > _DEEP:
            continue
        if made.name in _COMPARED:
            yield from sides(made.args[:2])
        elif made.name in _COMBINED:
            waiting += [(each, deep + 1) for each in made.args]
        else:
            yield made  # the number itself decides: `if d:`


def is_among(value: Value, known: set[Making]) -> bool:
    """Whether one of these records is that of a value, or of what it was computed of number by number, or as their extreme."""
    made = made_of(value)
    for _ in range(_DEEP):
        if made is None or made in known:
            return made is not None
        if made.name not in _KEEPING or not made.args:
            return False
        made = made_of(made.args[0])
    return False


def _record(value: Value) -> Making | None:
    read = shapes.read_from(value.size) if isinstance(value, Plain) else None
    made = made_of(value if read is None else read)
    while made is not None and made.name in ("item", "detach", "abs") and made.args:
        made = made_of(made.args[0])
    return made
