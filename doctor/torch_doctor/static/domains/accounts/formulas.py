"""Tests as formulas: over the numbers of passes, the script's own counters, lengths of loaders, and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import dispatch
from torch_doctor.static.choosing import option_of
from torch_doctor.static.domains.accounts import windows
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language.defaults import Defaults
from torch_doctor.static.state import per_run
from torch_doctor.static.values import COUNTER, ORDINAL, Const, Loader
from torch_doctor.static.values.symbols import LENGTH, SYNCHRONISED
from torch_doctor.trace import Formula

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol

CHANGING: Final = frozenset(("pass", "counter"))
"""What is another number in another pass of a loop."""
_OPERATORS: Final = frozenset(("+", "-", "*", "//", "%", "==", "<", "<=", ">", ">=", "and", "or", "not"))
_COUNTING: Final = CHANGING | {"number", "+", "-"}
_TESTS: Final = _OPERATORS | {SYNCHRONISED}
_SETTINGS: Final = frozenset(("flag", ".", "[]"))


class Counters(Knowledge):
    """The numbers that the script counts in loops: `events` has those that left a symbol, `numbers` what is counted where."""

    events: dict[Symbol, tuple[int, int]] = per_run(dict)  # the counter, and its event
    numbers: dict[tuple[p.Node, int], int] = per_run(dict)
    settings: dict[Symbol, int] = per_run(dict)  # the numbers of settings, in the order in which tests name them


def test(run: Run, symbol: Symbol) -> Formula | None:
    """Return the formula of a test that passes of loops decide; None for other tests, and those that anything else decides."""
    found = _formula(run, symbol) if symbol[0] in _TESTS else None
    return found if found is not None and any(each.op in CHANGING for each in found.within()) else None


def count(run: Run, symbol: Symbol) -> Formula | None:
    """Return the formula of a number that grows with each pass of a loop; None for any other number."""
    found = _formula(run, symbol)
    if found is None or not all(each.op in _COUNTING for each in found.within()):
        return None
    return found if any(each.op in CHANGING for each in found.within()) else None


def _formula(run: Run, symbol: Symbol) -> Formula | None:
    word = symbol[0]
    if word == "const":
        return Formula("number", value=symbol[1]) if isinstance(symbol[1], (int, float)) else None
    if word in (COUNTER, ORDINAL):
        turn = symbol[symbol.index("turn") + 1] if "turn" in symbol else 0
        return Formula("pass", value=symbol[1] if word == ORDINAL else 0, of=turn) if turn else None
    if (counted := run.of(Counters).events.get(symbol)) is not None:
        return Formula("counter", of=counted[1])
    if word in _OPERATORS:
        parts = [_formula(run, part) for part in symbol[1:]]
        known = tuple(part for part in parts if part is not None)
        return Formula(word, known) if len(known) == len(parts) else None
    if word == LENGTH:
        return Formula("batches", of=symbol[1]) if isinstance(run.objects.get(symbol[1]), Loader) else None
    if word == SYNCHRONISED:
        return windows.formula(run, symbol)
    if word not in _SETTINGS:
        return None
    default = run.of(Defaults).values.get(option_of(symbol))
    number = default.value if isinstance(default, Const) and isinstance(default.value, (int, float)) else None
    return Formula("setting", value=number, of=_number(run, symbol))


def _number(run: Run, setting: Symbol) -> int:
    settings = run.of(Counters).settings
    return settings.setdefault(setting, len(settings) + 1)


dispatch.VERBS["formula"] = test
