"""Settings that code out of sight makes: they may be whatever makes the rest right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import libraries
from torch_doctor.static.values import ASKED, MADE, Lib, Plain, Unknown

if TYPE_CHECKING:
    from torch_doctor.static.values import Symbol, Value


def chosen(value: Value | None) -> bool:
    """Whether code of which nothing is known says what a value is; the user, or who calls the script, says others."""
    if isinstance(value, Lib):
        return not libraries.heard_of(value.name)
    return isinstance(value, (Plain, Unknown)) and decided(value.symbol)


def is_told(value: Value | None) -> bool:
    """Whether a value is a name of a package of which nothing is known: one setting, wherever it is read."""
    return isinstance(value, Lib) and chosen(value)


def decided(symbol: Symbol) -> bool:
    """Whether the symbol is that of such a value, or of what is computed of one."""
    waiting = [symbol]
    while waiting:
        part = waiting.pop()
        if part and (part[0] == MADE or part[-1] == ASKED):
            return True
        if len(part) == 2 and part[0] == "lib" and not libraries.heard_of(str(part[1])):
            return True
        waiting += [inner for inner in part if isinstance(inner, tuple)]
    return False
