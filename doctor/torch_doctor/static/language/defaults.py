"""Settings that the user may choose: which numbers they are where nobody says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.values import Default, Plain, constant

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Value


class Defaults(Lasting):
    """The numbers that settings are by default, by their symbols."""

    def __init__(self) -> None:
        self.values: dict[Symbol, Value] = {}


def remember(run: Run, symbol: Symbol, value: Value | None) -> None:
    """Keep what a setting is by default, where that is a number that is known."""
    if value is not None and isinstance(known := by_default(value, symbol), Default):
        run.of(Defaults).values[symbol] = known


def forget(run: Run, settings: Plain, name: object) -> None:
    """One of the settings gets another value: its default says nothing any more."""
    run.of(Defaults).values.pop((".", settings.symbol, name), None)


def setting(run: Run, symbol: Symbol) -> Value | None:
    """The number that a setting is by default; None where nobody knows."""
    return run.of(Defaults).values.get(symbol)


def by_default(value: Value, symbol: Symbol) -> Value:
    """A value that is computed of settings: a number, by default."""
    number = constant(value)
    return (
        Default(number, symbol) if isinstance(number, (int, float)) and not isinstance(number, bool) else Plain(symbol)
    )
