"""Tests that hold for every k-th batch: read from the symbol that decides a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values import COUNTER, ORDINAL
from torch_doctor.trace import Every

if TYPE_CHECKING:
    from torch_doctor.static.values import Symbol


def every(symbol: Symbol) -> Every | None:
    """What a test says of the number of the batch: `(i + 1) % k == 0`, or `(i + 1) % k` alone.

    None for tests of anything else, and for those that say anything besides.
    """
    if symbol[0] == "==" and len(symbol) == 3:
        for rest, divided in ((symbol[1], symbol[2]), (symbol[2], symbol[1])):
            found = _remainder(divided, rest, holds=True)
            if found is not None:
                return found
        return None
    return _remainder(symbol, ("const", 0), holds=False)


def counted_to(symbol: Symbol, counter: Symbol, start: int, arm: bool) -> Every | None:  # noqa: FBT001 - the outcome of a test
    """What a test says of the batches, when its outcome `arm` sets a counter back to `start`, and each batch adds one to it.

    None for tests that say anything besides how far the counter has come.
    """
    if symbol == counter or symbol[0] not in ("==", ">=", ">", "<", "<=") or len(symbol) != 3:
        return None
    op, left, right = symbol
    if right == counter:
        op, left, right = _MIRRORED.get(op, op), right, left
    if left != counter or counts(right) or (op in ("<", "<=")) is arm:
        return None
    limit = _number(right)
    length = 0 if limit is None else limit - start + (op in (">", "<="))
    return Every(length, 0, arm) if limit is None or length > 0 else None


_MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


def _remainder(divided: Symbol, rest: Symbol, *, holds: bool) -> Every | None:
    """What it means that the symbol `divided`, a remainder, is `rest`."""
    if divided[0] != "%" or len(divided) != 3:
        return None
    ahead = _ahead(divided[1])
    if ahead is None or counts(divided[2]) or counts(rest):
        return None
    length, left = _number(divided[2]), _number(rest)
    if length is None or left is None:
        return None if length is not None and length < 1 else Every(0, 0, holds)
    return Every(length, (left - ahead) % length, holds) if length > 0 else None


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
