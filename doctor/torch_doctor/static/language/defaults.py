"""Settings that the user may choose: which numbers they are where nobody says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Const, Default, Plain, compound, constant, symbol_of

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol, Value


class Defaults(Lasting):
    """The numbers that settings are by default, and what those are that nobody can choose, by their symbols."""

    values: dict[Symbol, Value] = per_run(dict)


def remember(run: Run, symbol: Symbol, value: Value | None) -> None:
    """Keep what a setting is by default, where that is a number that is known."""
    if value is not None and isinstance(known := by_default(value, symbol), Default):
        run.of(Defaults).values[symbol] = known


def settle(run: Run, symbol: Symbol, value: Value) -> None:
    """Keep what a setting is, whatever the user says, or what is known of it where code out of sight says the default."""
    run.of(Defaults).values[symbol] = value


def forget(run: Run, settings: Plain, name: object) -> None:
    """One of the settings gets another value: its default says nothing any more."""
    run.of(Defaults).values.pop((".", settings.symbol, name), None)


def setting(run: Run, symbol: Symbol) -> Value | None:
    """The number that a setting is by default, or what it always is; None where nobody knows."""
    known = run.of(Defaults).values
    return known.get(_of_options(symbol)) if known else None


def got(run: Run, func: Plain, call: Call) -> Value | None:
    """`settings.get(key, default)`; None for other methods."""
    if call.method != "get" or func.symbol[0] != "." or not call.args or not isinstance(call.args[0], Const):
        return None
    symbol = _of_options(compound("[]", func.symbol[1], symbol_of(call.args[0])))
    return setting(run, symbol) or by_default(call.argument(1, "default") or Plain(), symbol)


def _of_options(symbol: Symbol) -> Symbol:
    """The symbol of the option that `vars(args)["epochs"]` is; any other symbol as it is."""
    if symbol[0] == "[]" and symbol[1][0] == "." and symbol[1][2] == "__dict__":
        return (".", symbol[1][1], symbol[2][-1])
    return symbol


def by_default(value: Value, symbol: Symbol) -> Value:
    """A value that is computed of settings: a number, by default."""
    number = constant(value)
    return (
        Default(number, symbol) if isinstance(number, (int, float)) and not isinstance(number, bool) else Plain(symbol)
    )
