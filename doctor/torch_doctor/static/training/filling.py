"""Rows that the script fills up by itself: lists to which numbers are added, and arrays of which a part is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring import making
from torch_doctor.static.tables import words
from torch_doctor.static.training.padding import FILLED, is_missing
from torch_doctor.static.values import ARRAY, Const, Fact, Making, Plain, Sequence, Tensor, Value, symbol_of
from torch_doctor.static.values.symbols import LENGTH, SLICE

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol

_MAKERS: Final = {name: Const(0) for name in words("zeros new_zeros zeros_like")} | {
    "ones": Const(1),
    "new_ones": Const(1),
}
_FILLING: Final = {"full": 1, "new_full": 2, "full_like": 1}
"""Functions that fill a tensor with the argument at this place."""


def repeated(made: Sequence, times: Value) -> Sequence:
    """A list that repeats what another has; as often as a row is too short, it is there to fill that up."""
    if len(made.content.all()) and all(each is made.content.all()[0] for each in made.content.all()):
        made.facts[Fact.FILLING] = made.content.all()[0], symbol_of(times)
    return made


def joined(run: Run, operands: tuple[Value, ...], node: p.Node) -> dict[Fact, object]:
    """What is known of a row that is added up of these: it is filled up, or will be where it is cut; nothing of any other sum."""
    for each in operands:
        filling = each.fact(Fact.FILLING) if isinstance(each, Sequence) else None
        others = [other for other in operands if other is not each]
        if filling is not None and not any(map(_is_whole, others)):
            filled = making(FILLED, (), of=filling[0], site=run.site(node))
            if is_missing(filling[1]):
                return {Fact.FILLED_UP: filled}
            return {Fact.TOO_LONG: (filled, filling[1])} if each is operands[-1] else {}
    return {}


def extended(run: Run, row: Sequence, by: Value, node: p.Node) -> None:
    """A row gets the items of another at its end."""
    for fact, known in joined(run, (row, by), node).items():
        run.heap.set(row.facts, fact, known)


def cut(row: Sequence, stretch: Value, part: Sequence) -> Sequence:
    """The beginning of a row; one to which as many numbers were added as it is to have is filled up."""
    symbol = stretch.symbol if isinstance(stretch, Plain) else ("",)
    if symbol[0] == SLICE and symbol[1] == symbol_of(Const(None)):
        long = row.fact(Fact.TOO_LONG)
        filled = long[0] if long is not None and long[1] == symbol[2] else row.fact(Fact.FILLED_UP)
        if filled is not None:
            part.facts[Fact.FILLED_UP] = filled
    return part


def _is_whole(row: Value) -> bool:
    """Whether all items of a list are in sight."""
    return isinstance(row, Sequence) and row.content.rest is None


def part_filled(run: Run, holder: Value, key: Value, node: p.Node) -> tuple[Making, Making] | None:
    """How a tensor was made in which a row was put as far as it goes, and how it is filled up; None for any other assignment."""
    parts = key.content.items if isinstance(key, Sequence) else (key,)
    made = _made(holder)
    if made is not None and made.name == "[]" and len(parts) == 1:
        parts, made = (made.args[1], *parts), _made(made.args[0])
    fill = None if made is None else _fill(made)
    if made is None or fill is None or not parts or not _varies(parts[-1], parts[:-1]):
        return None
    filled = making(FILLED, (), of=fill, site=run.site(node))
    return None if filled is None else (made, filled)


def _made(value: Value) -> Making | None:
    if isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY:
        value = value.size.args[0]
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.name in ("long", "clone", "type", "to") and made.args:
        first = made.args[0]
        made = first.meta if isinstance(first, Tensor) else None
    return made if isinstance(made, Making) else None


def _fill(made: Making) -> Value | None:
    """What a tensor was filled with where it was made; None for any other one."""
    place = _FILLING.get(made.name)
    if place is None:
        return _MAKERS.get(made.name)
    return made.args[place] if len(made.args) > place else made.keywords.get("fill_value")


def _varies(stretch: Value, others: tuple[Value, ...]) -> bool:
    """Whether a slice goes from the beginning up to the length of something, or up to a number that a list has for the row."""
    symbol = stretch.symbol if isinstance(stretch, Plain) else ("",)
    if symbol[0] != SLICE or symbol_of(Const(None)) != symbol[1]:
        return False
    upper: Symbol = symbol[2]
    places = [symbol_of(each) for each in others]
    return upper[0] == LENGTH or (upper[0] == "[]" and len(upper) > 2 and upper[2] in places)  # noqa: PLR2004 - of, and which
