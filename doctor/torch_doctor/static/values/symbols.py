"""Symbols identify undecided values, so that the same test made twice is decided once."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_doctor.trace.words import Tri

Symbol: TypeAlias = tuple[Any, ...]
"""Identifies an undecided value, so that the same test made twice is decided once."""


Conditions: TypeAlias = frozenset[tuple[Symbol, bool]]
"""What must hold for an alternative to be the right one."""


SERIAL = itertools.count(1)
"""Numbers objects and symbols, in the order in which they come up."""


OPTION = "option"
"""Begins the symbol of a value being the right one of several; then come the tests that lead to it, with their outcomes."""


COUNTER = "counter"
"""Begins the symbol of a loop's counter that starts at 0; then comes whether it is there now, None where nobody knows."""


VERSION = "which version"
"""Begins the symbol of what tells which version of a library is there."""


NEUTRAL = "neutral"
"""Begins the symbol of what a library made that switches nothing on or off when it is entered."""


MADE = "made"
"""Begins the symbol of what any other library made: it may do anything with what it was given, and reaches nothing else."""


ASKED = "asked"
"""Ends the symbol of what code out of sight returned for something that the script gave it."""


TRAINING = "in training mode"
"""Begins the symbol of the mode of a module of which nobody knows in which mode it is."""


ORDINAL = "ordinal"
"""In the symbol of a counter: it is the index of the batch, as `enumerate` counts a pass through a loader."""


CHANGED = "changed in place"
"""Begins what stands for the key in the symbol of an array that has other numbers now: it is all of the array that it was."""


FORMATTED = "formatted"
"""In the symbol of a part of a text: it is written in the format that follows."""


STATISTIC = "statistic"
"""Begins the symbol of a number computed of many rows; then comes what is known of that."""


SYNCHRONISED = "sync_gradients"
"""Begins the symbol of whether the window that a library keeps is complete."""


LENGTH = "len"
"""Begins the symbol of the length of something."""


DEVICE = "device"
"""Begins the symbol of a device; then comes its type, "" where that is not known."""


WHEREABOUTS = "device of a tensor"
"""Begins the symbol of what a tensor says of its own device."""


SCALAR = "number of NumPy"
"""Begins the symbol of a number that NumPy computed, of a type of its own, or of an array of them."""


SLICE = "slice"
"""Begins the symbol of a slice; then come those of its bounds and its step."""


PIXELS = "pixels"
"""Begins the symbol of an array of bytes, or of a picture of which one can be made; then comes where it was read."""


PICTURE = "picture"
"""The same of an array that has the numbers of a picture in another range."""


UNTOLD = "?"
"""Begins the symbol of what nothing is known of."""


def fresh_symbol(word: str = UNTOLD) -> Symbol:
    """A symbol that equals no other."""
    return (word, next(SERIAL))


def asked(symbol: Symbol) -> bool:
    """Whether code out of sight decides it, which was given something: it may have looked at whatever the arms are about."""
    if symbol[0] in ("not", "and", "or"):
        return any(asked(part) for part in symbol[1:])
    return bool(symbol[-1] == ASKED)


def conditions(symbol: Symbol | None) -> tuple[Conditions, Conditions]:
    """What holds where a test holds, and where it does not; nothing without a test.

    Negated tests are told by what they negate. Where `a and b` holds, `a` and `b` hold, and where `a or b` does not, neither does.
    """
    if symbol is None:
        return frozenset(), frozenset()
    if symbol[0] == "not":
        yes, no = conditions(symbol[1])
        return no, yes
    yes, no = frozenset(((symbol, True),)), frozenset(((symbol, False),))
    if symbol[0] in ("and", "or"):
        parts = [conditions(part) for part in symbol[1:]]
        if symbol[0] == "and":
            return yes.union(*(each for each, _ in parts)), no
        return yes, no.union(*(each for _, each in parts))
    return yes, no


def outcome(symbol: Symbol, known: Mapping[Symbol, bool]) -> Tri:
    """How a test goes that is made of others, where the outcomes of some are known."""
    if symbol in known:
        return known[symbol]
    return joined_outcome(symbol, known)


def joined_outcome(symbol: Symbol, known: Mapping[Symbol, bool]) -> Tri:
    """How a test goes by those that it is made of; None where these do not say it."""
    if symbol[0] == "not":
        inner = outcome(symbol[1], known)
        return None if inner is None else not inner
    if symbol[0] not in ("and", "or"):
        return None
    decisive = symbol[0] == "or"
    found = [outcome(part, known) for part in symbol[1:]]
    return decisive if decisive in found else None if None in found else not decisive


def from_argument(symbol: Symbol) -> bool:
    """Whether it is an argument that nobody in sight gives, or lies within one."""
    while symbol[0] in (".", "[]") and isinstance(symbol[1], tuple):
        symbol = symbol[1]
    return bool(symbol[0] == "flag")


LARGEST = 200
"""Parts of a symbol that are told apart: a number that is added to itself again and again would double it each time."""


def compound(*parts: Any) -> Symbol:
    """The symbol of what is computed of several things; a fresh one where that would grow beyond all bounds."""
    return fresh_symbol() if _size(parts) > LARGEST else parts


def _size(symbol: Symbol) -> int:
    """How many parts a symbol has, those of its parts included."""
    size = len(symbol)
    for part in symbol:
        if part.__class__ is tuple:
            size += _size_known(part)
    return size


_size_known = lru_cache(maxsize=4096)(_size)
"""The same of what has been asked for before: symbols are made of others."""


def _of_version(symbol: Symbol) -> bool:
    """Whether the word for versions of libraries is in a symbol."""
    return any(part is VERSION or (part.__class__ is tuple and of_version(part)) for part in symbol)


of_version = lru_cache(maxsize=4096)(_of_version)
"""The same of what has been asked for before, as with sizes."""


def latest() -> int:
    """The number of the newest object or symbol."""
    return next(SERIAL)


def hashable(value: object) -> bool:
    """Whether a constant can be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def statistic_in(symbol: Symbol, depth: int = 3) -> Symbol | None:
    """The symbol of the statistic that one is, or that is a part of the sum, difference or product that it is."""
    if symbol[0] == STATISTIC:
        return symbol
    parts = symbol[1:] if depth and symbol[0] in ("+", "-", "*") else ()
    found = (statistic_in(part, depth - 1) for part in parts if isinstance(part, tuple))
    return next((each for each in found if each is not None), None)


def alike(symbol: Symbol) -> Symbol:
    """A symbol without what tells one undecided value from another."""
    if symbol[0] in (UNTOLD, LENGTH, "object"):
        return (symbol[0],)
    return tuple(alike(part) if isinstance(part, tuple) and part else part for part in symbol)
