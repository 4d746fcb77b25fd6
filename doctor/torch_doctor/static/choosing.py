"""Options of a command line: how tests of them go in a setting, and a setting in which they go otherwise."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from torch_doctor.static.values import Const

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_doctor.static.values import Symbol

    Known = Mapping[Symbol, "Option | None"]

MOST_OPTIONS = 3
"""Options that a setting changes at most."""
_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "is": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda left, right: left in right,
}


class Another:
    """The value of an option that has another than its default and those that the script compares it with."""


ANOTHER = Const(Another())


class Option(Struct, frozen=True):
    """An option of a command line."""

    name: str
    """How it is written where it has another value than its default."""
    default: Const
    """Its value if the user does not pass it."""
    kind: type | None = None
    """What `type` makes of its text: `str` without `type`; None if that is not known."""
    choices: tuple[Any, ...] = ()
    """All values that it accepts; empty if it accepts others."""
    switch: bool = False
    """Whether it takes no value, as with `action="store_true"`."""
    excludes: Symbol | None = None
    """The group of options of which the user may pass only one."""

    def said(self, value: Const) -> str:
        """How the user says that it has a value."""
        if self.switch:
            return f"`{self.name}`"
        if value is not ANOTHER:
            return f"`{self.name} {value.value}`"
        default = self.default.value
        return f"`{self.name}`" if default in (None, "") else f"`{self.name}` other than `{default}`"

    def arguments(self, value: Const) -> tuple[str, ...] | None:
        """The arguments of the command line that give it a value; None if they are not known."""
        if value is ANOTHER or not self.name.startswith("-"):
            return None
        text = str(value.value)
        return (self.name,) if self.switch else (f"{self.name}={text}",) if text.startswith("-") else (self.name, text)

    def is_switched(self, constants: Sequence[Any]) -> bool:
        """Whether it is 0 or 1, where the script compares it with these constants."""
        return self.kind is int and self.default.value in (0, 1) and set(constants) <= {0, 1}

    def others(self, constants: Sequence[Any]) -> Iterator[Const]:
        """Yield values that the user may give it instead of the default, where the script compares it with these constants."""
        default = self.default.value
        if self.choices:
            yield from (Const(each) for each in self.choices if each != default)
        elif isinstance(default, bool):
            if self.switch or self.kind is None or (self.kind is bool and not default):
                yield Const(not default)
        elif self.is_switched(constants):
            yield Const(int(not default))
        elif self.kind in (int, float):
            tested = [each for each in constants if isinstance(each, (int, float))] or [0]
            step = 1 if self.kind is int else 0.5
            numbers = (self.kind(each + change) for each in tested for change in (0, step, -step))
            yield from (Const(each) for each in numbers if each != default)
        elif self.kind is str or default is None:
            yield from (Const(each) for each in constants if isinstance(each, str) and each != default)
            yield ANOTHER


class Setting(Struct, frozen=True):
    """What the options are in a run: their defaults, except these values.

    `arguments` are those of the command line that the user gives for it; None if they are not known. `naming`: it only tells
    which findings of the run with any settings need it, and shows no others.
    """

    values: dict[Symbol, Const] = {}
    words: str = ""
    arguments: tuple[str, ...] | None = ()
    naming: bool = False


def truth(symbol: Symbol, known: Known, setting: Setting) -> bool | None:
    """Return how a test of options goes in a setting; None if that is not known, or it tests something else."""
    op, *parts = symbol
    if op in ("and", "or"):
        found = [truth(part, known, setting) for part in parts]
        decisive = op == "or"
        return decisive if decisive in found else None if None in found else not decisive
    if op == "not":
        positive = truth(parts[0], known, setting)
        return None if positive is None else not positive
    if op not in _TESTS:
        value = _value(symbol, known, setting)
        return None if value is None else value is ANOTHER or bool(value.value)
    left, right = (_value(part, known, setting) for part in parts)
    if left is None or right is None:
        return None
    if ANOTHER in (left, right):
        return False if op in ("==", "is") and left is not right else None
    try:
        return bool(_TESTS[op](left.value, right.value))
    except TypeError:
        return None


def choose(wanted: Mapping[Symbol, bool], known: Known) -> Setting | None:
    """Return a setting in which all these tests go as they are wanted to; None if none is found."""
    by_default = Setting()
    open_tests = [symbol for symbol, arm in wanted.items() if truth(symbol, known, by_default) is not arm]
    options = dict.fromkeys(option for symbol in open_tests for option in options_in(symbol, known))
    if len(options) > MOST_OPTIONS:
        return None
    for number in range(1, len(options) + 1):
        for changed in itertools.combinations(options, number):
            if _exclude(changed, known):
                continue
            for values in itertools.product(*(_others(option, known, wanted) for option in changed)):
                setting = Setting(dict(zip(changed, values, strict=True)))
                if all(truth(symbol, known, setting) is arm for symbol, arm in wanted.items()):
                    return Setting(
                        setting.values, f"with {words(setting.values, known)}", arguments(setting.values, known)
                    )
    return None


def words(values: Mapping[Symbol, Const], known: Known) -> str:
    """Return how the user says that options have these values."""
    said = [option.said(value) for symbol, value in values.items() if (option := known.get(symbol)) is not None]
    return " and ".join(dict.fromkeys(said))


def arguments(values: Mapping[Symbol, Const], known: Known) -> tuple[str, ...] | None:
    """Return the arguments of the command line that give options these values; None if they are not known."""
    given = [option.arguments(value) for symbol, value in values.items() if (option := known.get(symbol)) is not None]
    found = [each for each in given if each is not None]
    return tuple(word for each in found for word in each) if len(found) == len(values) else None


def options_in(symbol: Symbol, known: Known) -> Iterator[Symbol]:
    """Yield the options of which a test is made."""
    if known.get(option_of(symbol)) is not None:
        yield option_of(symbol)
    elif symbol[0] in ("and", "or", "not", *_TESTS):
        for part in symbol[1:]:
            yield from options_in(part, known)


def option_of(symbol: Symbol) -> Symbol:
    """Return the symbol of the option that `vars(args)["epochs"]` is; any other symbol unchanged."""
    if symbol[0] == "[]" and symbol[1][0] == "." and symbol[1][2] == "__dict__":
        return (".", symbol[1][1], symbol[2][-1])
    return symbol


def _value(symbol: Symbol, known: Known, setting: Setting) -> Const | None:
    if symbol[0] == "const":
        return Const(symbol[1])
    option = known.get(option_of(symbol))
    return None if option is None else setting.values.get(option_of(symbol)) or option.default


def _others(symbol: Symbol, known: Known, wanted: Mapping[Symbol, bool]) -> Iterator[Const]:
    option = known[symbol]
    constants = dict.fromkeys(each for test in wanted for each in compared(test, symbol))
    return iter(()) if option is None else option.others(list(constants))


def compared(test: Symbol, option: Symbol) -> Iterator[Any]:
    """Yield the constants with which a test compares an option."""
    if test[0] in ("and", "or", "not"):
        for part in test[1:]:
            yield from compared(part, option)
    elif test[0] in _TESTS and option in (option_of(test[1]), option_of(test[2])):
        for side in test[1:]:
            if side[0] == "const":
                yield from side[1] if isinstance(side[1], tuple) else (side[1],)


def _exclude(changed: tuple[Symbol, ...], known: Known) -> bool:
    """Whether the user may pass only one of these options."""
    groups = [option.excludes for each in changed if (option := known[each]) is not None and option.excludes]
    return len(groups) > len(set(groups))
