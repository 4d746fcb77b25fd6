"""Numbers of batches: read from the symbols that are computed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values import COUNTER, ORDINAL

if TYPE_CHECKING:
    from torch_doctor.static.values import Symbol


def _ahead(symbol: Symbol) -> int | None:
    """By how much a value is ahead of the number of the batch, counted from 1; None where it does not follow it."""
    if symbol[0] == COUNTER and len(symbol) > 2 and symbol[2] == ORDINAL:
        return -1
    if symbol[0] == ORDINAL:
        return int(symbol[1]) - 1
    if symbol[0] in ("+", "-") and len(symbol) == 3:
        for value, added in ((symbol[1], symbol[2]), (symbol[2], symbol[1])):
            number, ahead = _number(added), _ahead(value)
            if number is not None and ahead is not None:
                return ahead + number if symbol[0] == "+" else ahead - number if value is symbol[1] else None
    return None


def counted_turn(symbol: Symbol, behind: int = 0) -> int:
    """The number of the loop whose batches so far a value is the number of, less `behind`; 0 where it is another number."""
    return _turn(symbol) if _ahead(symbol) == -behind else 0


def whole(symbol: Symbol) -> bool:
    """Whether a value is a whole number: a counter, a length, or computed of such."""
    if symbol[0] in (COUNTER, ORDINAL, "len"):
        return True
    if symbol[0] in ("+", "-", "*", "//") and len(symbol) == 3:
        return whole(symbol[1]) and whole(symbol[2])
    return _number(symbol) is not None


def _turn(symbol: Symbol) -> int:
    if symbol[0] in (COUNTER, ORDINAL):
        return int(symbol[symbol.index("turn") + 1]) if "turn" in symbol else 0
    return max((_turn(part) for part in symbol if isinstance(part, tuple) and part), default=0)


def _number(symbol: Symbol) -> int | None:
    return symbol[1] if symbol[0] == "const" and type(symbol[1]) is int else None


def counts(symbol: Symbol) -> bool:
    """Whether a value may change from one pass of a loop to the next."""
    if symbol[0] in (COUNTER, ORDINAL, "turn"):
        return True
    return any(counts(part) for part in symbol if isinstance(part, tuple) and part)
