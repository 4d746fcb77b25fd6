"""Settings that the user may choose: which numbers they are where nobody says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.choosing import option_of
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.options import Options
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
    """One of the settings gets another value, None: any of them; its default says nothing any more."""
    run.of(Defaults).values.pop((".", settings.symbol, name), None)
    run.of(Options).forget(settings.symbol, name)


def setting(run: Run, symbol: Symbol) -> Value | None:
    """The number that a setting is by default, or what it always is; None where nobody knows."""
    known = run.of(Defaults).values
    symbol = option_of(symbol)
    return run.of(Options).read(symbol) or (known.get(symbol) if known else None)


def got(run: Run, func: Plain, call: Call) -> Value | None:
    """`settings.get(key, default)`; None for other methods."""
    if call.method != "get" or func.symbol[0] != "." or not call.args or not isinstance(call.args[0], Const):
        return None
    symbol = option_of(compound("[]", func.symbol[1], symbol_of(call.args[0])))
    return setting(run, symbol) or by_default(call.argument(1, "default") or Plain(), symbol)


def by_default(value: Value, symbol: Symbol) -> Value:
    """A value that is computed of settings: a number, by default."""
    number = constant(value)
    return (
        Default(number, symbol) if isinstance(number, (int, float)) and not isinstance(number, bool) else Plain(symbol)
    )
