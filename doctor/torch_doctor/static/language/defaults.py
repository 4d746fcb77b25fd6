"""Settings that the user may choose: what they are where nobody says otherwise."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.values import Const, Plain, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Value


class Defaults(Lasting):
    """The defaults of settings, by their symbols."""

    def __init__(self) -> None:
        self.values: dict[Symbol, object] = {}


def remember(run: Run, symbol: Symbol, value: Value | None) -> None:
    """Keep what a setting is by default, where that is known."""
    if isinstance(value, Const):
        run.of(Defaults).values[symbol] = value.value


def forget(run: Run, settings: Plain, name: object) -> None:
    """One of the settings gets another value: its default says nothing any more."""
    run.of(Defaults).values.pop((".", settings.symbol, name), None)


def by_default(run: Run, value: Value) -> object:
    """The Python value of a constant, or of a setting and what is computed of it by default; None for anything else."""
    if isinstance(value, Const):
        return value.value
    return _computed(run.of(Defaults).values, value.symbol) if isinstance(value, (Plain, Unknown)) else None


_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}


def _computed(values: dict[Symbol, object], symbol: Symbol) -> object:
    if symbol[0] == "const":
        return symbol[1]
    if symbol[0] not in _OPERATORS or len(symbol) != 3:  # noqa: PLR2004 - the operator and its sides
        return values.get(symbol)
    left, right = (_computed(values, side) for side in symbol[1:])
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return None
    return None if symbol[0] == "//" and not right else _OPERATORS[symbol[0]](left, right)
