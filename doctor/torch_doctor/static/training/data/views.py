"""Views of arrays: whose memory an array has, and whether two views of one surely have numbers in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from torch_doctor.static.values import Sequence, symbol_of
from torch_doctor.static.values.symbols import CHANGED

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Value

Key: TypeAlias = "tuple[Symbol, ...]"
"""What is taken of each dimension, from the first one on: a slice or a number."""
SLICE: Final = "slice"
_CONST: Final = "const"
UNKNOWN: Final[Key] = (("?",),)
"""A key of which nothing is known."""
_ALL: Final = (SLICE, (_CONST, None), (_CONST, None), (_CONST, None))


class View(NamedTuple):
    """A part of the memory of an array: what identifies the array, and what was taken of it, one key after the other."""

    array: Symbol
    keys: tuple[Key, ...] = ()

    @property
    def sliced(self) -> bool:
        """Whether the last key has a slice in it: then it is an array, and no number."""
        return bool(self.keys) and any(part[0] == SLICE for part in self.keys[-1])

    def of(self, key: Key) -> View:
        """The view that a key takes of this one."""
        return self if all(part == _ALL for part in key) else View(self.array, (*self.keys, key))

    def meets(self, other: View) -> bool:
        """Whether both surely have numbers in common."""
        return self.array == other.array and _meet(self.keys, other.keys)


def view_of(run: Run, symbol: Symbol) -> View | None:
    """The view that an array with this symbol is; None where it may be a copy."""
    keys: list[Key] = []
    while symbol[0] == "[]" or (symbol[0] == "." and symbol[2] == "T"):
        if symbol[0] == ".":
            if keys:
                return None  # they are about other dimensions
        elif symbol[2][0] != CHANGED:
            key = _parts(run, symbol[2])
            if key is None:
                return None
            keys.append(key)
        symbol = symbol[1]
    view = View(symbol)
    for key in reversed(keys):
        view = view.of(key)
    return view


def key_of(run: Run, value: Value) -> Key | None:
    """The key that a value is; None where it takes a copy, or nobody knows."""
    return _parts(run, symbol_of(value))


def _parts(run: Run, symbol: Symbol) -> Key | None:
    several = run.objects.get(symbol[1]) if symbol[0] == "object" else None
    if isinstance(several, Sequence):
        whole = several.kind == "tuple" and several.content.rest is None
        parts = tuple(map(symbol_of, several.content.items)) if whole else ()
    else:
        parts = (symbol,)
    known = all(part[0] == SLICE or (part[0] == _CONST and type(part[1]) is int) for part in parts)
    return parts if parts and known else None


def _meet(one: tuple[Key, ...], other: tuple[Key, ...]) -> bool:
    if not one or not other:
        return True
    if one[0] == other[0]:
        return _meet(one[1:], other[1:])
    return len(one) == len(other) == 1 and all(map(_overlap, one[0], other[0]))  # what is not named is all of it


def _overlap(one: Symbol, other: Symbol) -> bool:
    """Whether two slices or numbers surely have one in common: no step leaves any out."""
    if one == other:
        return True
    if UNKNOWN[0] in (one, other):
        return False
    (first, last), (start, stop) = _ends(one), _ends(other)
    return _steps(one) and _steps(other) and _before(first, stop) and _before(start, last)


def _steps(part: Symbol) -> bool:
    return part[0] != SLICE or part[3] in ((_CONST, None), (_CONST, 1))


def _ends(part: Symbol) -> tuple[Symbol, Symbol]:
    """Where a slice or a number begins and ends, each counted from an end of the dimension."""
    if part[0] == SLICE:
        lower = ("start", 0) if part[1] == (_CONST, None) else _end(part[1])
        return lower, ("end", 0) if part[2] == (_CONST, None) else _end(part[2])
    place = _end(part)
    return place, (place[0], place[1] + 1)


def _end(bound: Symbol) -> Symbol:
    if bound[0] == _CONST and type(bound[1]) is int:
        return ("start" if bound[1] >= 0 else "end", bound[1])
    return ("?", bound)


def _before(one: Symbol, other: Symbol) -> bool:
    """Whether a place surely comes before another; a slice that the script takes has something in it."""
    if one[0] == other[0] != "?":
        return bool(one[1] < other[1])
    return one == ("start", 0) or (other == ("end", 0) and one != other)
