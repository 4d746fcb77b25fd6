"""Rows that the script fills up by itself: lists to which numbers are added, and arrays of which a part is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains.padding import FILLED, filled_with, is_missing
from torch_doctor.static.measuring import making
from torch_doctor.static.program.using import path_of
from torch_doctor.static.values import ARRAY, Const, Fact, Making, Plain, Sequence, Tensor, Value, symbol_of
from torch_doctor.static.values.symbols import LENGTH, SLICE

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol

_BINARY: Final = 3
"""The parts of a symbol of two operands."""


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


def until_long(run: Run, loop: p.While) -> None:
    """`while len(row) < n: row.append(0)`, or `row += [0]`, is over: the row is filled up."""
    test, body = loop.test, loop.body
    if not isinstance(test, p.Compare) or test.op not in ("<", ">", "!=") or len(body) != 1:
        return
    short, long = (test.right, test.left) if test.op == ">" else (test.left, test.right)
    if not isinstance(short, p.Call) or not isinstance(short.func, p.Name) or short.func.id != "len" or not short.args:
        return
    added = _added(body[0], path_of(short.args[0]))
    if not isinstance(added, (p.Const, p.Name, p.Attribute)):
        return  # another number each time, perhaps
    row = run.resolve(run.evaluate(short.args[0]))
    if isinstance(row, Sequence) and not _is_whole(row) and not isinstance(long, p.Const):
        filled = making(FILLED, (), of=run.resolve(run.evaluate(added)), site=run.site(body[0]))
        run.heap.set(row.facts, Fact.FILLED_UP, filled)


def _added(statement: p.Stmt, row: str) -> p.Expr | None:
    """What a statement adds to the end of a row that is written so; None where it does anything else."""
    if isinstance(statement, p.Augment) and statement.op == "+" and path_of(statement.target) == row:
        items = statement.value.items if isinstance(statement.value, p.Display) else ()
        return items[0] if len(items) == 1 else None
    call = statement.value if isinstance(statement, p.Evaluate) else None
    if not isinstance(call, p.Call) or not isinstance(call.func, p.Attribute) or len(call.args) != 1:
        return None
    return call.args[0] if call.func.name == "append" and row and path_of(call.func.value) == row else None


def cut(row: Sequence, stretch: Value, part: Sequence) -> Sequence:
    """The beginning of a row; one to which as many numbers were added as it is to have is filled up."""
    symbol = stretch.symbol if isinstance(stretch, Plain) else ("",)
    if symbol[0] == SLICE and symbol[1] == symbol_of(Const(None)):
        long = row.fact(Fact.TOO_LONG)
        filled = long[0] if long is not None and long[1] == symbol[2] else row.fact(Fact.FILLED_UP)
        if filled is not None:
            part.facts[Fact.FILLED_UP] = filled
    return part


def copied(row: Value, copy: Sequence) -> Sequence:
    """The copy of a row, which is filled up as the row is."""
    for fact in (Fact.FILLED_UP, Fact.TOO_LONG):
        if isinstance(row, Sequence) and row.fact(fact) is not None:
            copy.facts[fact] = row.fact(fact)
    return copy


def _is_whole(row: Value) -> bool:
    """Whether all items of a list are in sight."""
    return isinstance(row, Sequence) and row.content.rest is None


def part_filled(
    run: Run, holder: Value, key: Value, node: p.Node, row: Value | None = None
) -> tuple[Making, Making] | None:
    """How a tensor was made in which a row was put as far as it goes, and how it is filled up; None for any other assignment."""
    parts = key.content.items if isinstance(key, Sequence) else (key,)
    made = _made(holder)
    if made is not None and made.name == "[]" and len(parts) == 1:
        parts, made = (made.args[1], *parts), _made(made.args[0])
    fill = None if made is None else filled_with(made)
    if made is None or fill is None or not parts or not _varies(parts[-1], parts[:-1]):
        return None
    written = {} if row is None else {"row": row}
    return made, Making(FILLED, (Tensor(meta=made),), written, of=fill, site=run.site(node))


def _made(value: Value) -> Making | None:
    if isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY:
        value = value.size.args[0]
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.name in ("long", "clone", "type", "to") and made.args:
        first = made.args[0]
        made = first.meta if isinstance(first, Tensor) else None
    return made if isinstance(made, Making) else None


def _varies(stretch: Value, others: tuple[Value, ...]) -> bool:
    """Whether a slice goes from the beginning up to the length of something, or up to a number that a list has for the row."""
    symbol = stretch.symbol if isinstance(stretch, Plain) else ("",)
    if symbol[0] != SLICE or symbol_of(Const(None)) != symbol[1]:
        return False
    return _is_length(symbol[2], [symbol_of(each) for each in others])


def _is_length(symbol: Symbol, places: list[Symbol]) -> bool:
    """Whether a number is the length of a row, or as many more or less as its first and last words need."""
    if symbol[0] in ("+", "-") and len(symbol) == _BINARY:
        one, other = symbol[1:] if symbol[0] == "-" else sorted(symbol[1:], key=_is_number)
        return _is_number(other) and _is_length(one, places)
    return symbol[0] == LENGTH or (symbol[0] == "[]" and len(symbol) > 2 and symbol[2] in places)


def _is_number(symbol: Symbol) -> bool:
    return symbol[0] == "const" and isinstance(symbol[1], int)
