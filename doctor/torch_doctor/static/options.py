"""Options of a command line: what they are in a run, and with which settings the script is executed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import choosing
from torch_doctor.static.choosing import ANOTHER, Option, Setting
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.values import (
    MISSING,
    ClassValue,
    Const,
    Default,
    Fact,
    FunctionValue,
    Lib,
    Mode,
    Object,
    Optimizer,
    Plain,
    Tensor,
    UnknownName,
)
from torch_doctor.trace import Needs

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import TypeGuard

    from torch_doctor.static.heap import Changes
    from torch_doctor.static.values import Symbol, Value

MOST = 4
"""Settings in addition to the defaults with which a file is executed."""


class Options(Lasting):
    """The options of the script, by their symbols; None for one of which the default no longer holds.

    `setting` is what they are in this run (None: whatever the user chooses), `assigned` what the script itself puts among them
    then. `mattering` are tests whose outcome decides what is left behind, each with a setting in which it goes otherwise than
    by default (None: none is known).
    """

    known: MutableMapping[Symbol, Option | None] = per_path(dict)
    setting: Setting | None = per_run()
    mattering: dict[Symbol, Setting | None] = per_run(dict)
    assigned: MutableMapping[Symbol, Value] = per_path(dict, agreed=True)
    parsers: dict[str, int] = per_run(dict)

    def parser(self, site: str) -> int:
        """Return the number of a parser among those created at this place: the same in every run of the script."""
        self.parsers[site] = number = self.parsers.get(site, 0) + 1
        return number

    def forget(self, settings: Symbol, name: object = None) -> None:
        """Some settings, or one of them, get other values than the user chose; `name` is that of an attribute or an item."""
        if not self.known:
            return
        if settings[0] == "." and settings[2] == "__dict__":
            settings = settings[1]
        if isinstance(name, tuple):
            name = name[1] if name[0] == "key" else None
        elif isinstance(name, UnknownName):
            name = None
        for symbol in [each for each in self.known if each[1] == settings and name in (None, each[2])]:
            self.known[symbol] = None
        for symbol in [each for each in self.assigned if each[1] == settings and name in (None, each[2])]:
            self.assigned[symbol] = Plain()

    def assign(self, symbol: Symbol, value: Value, *, sure: bool) -> None:
        """The script puts a value among its settings; `sure`: on all paths."""
        if self.setting is not None and self.known:
            self.assigned[symbol] = value if sure and isinstance(value, (Const, Plain)) else Plain()

    def read(self, symbol: Symbol) -> Value | None:
        """Return what an option is in this run, if it is a switch, a text, a number that the setting changes, or assigned."""
        if self.setting is None:
            return None
        if (assigned := self.assigned.get(symbol)) is not None:
            return assigned
        if (option := self.known.get(symbol)) is None:
            return None
        changed = self.setting.values.get(symbol)
        value = (changed or option.default).value
        if isinstance(value, (bool, str)):
            return Const(value)
        return Default(value, symbol) if changed is not None and isinstance(value, (int, float)) else None

    def decided(self, symbol: Symbol) -> bool | None:
        """Return how a test goes in this run; None if the user may choose, or it tests something else."""
        return None if self.setting is None else choosing.truth(symbol, self.known, self.setting)

    def by_default(self, symbol: Symbol) -> bool | None:
        """Return how a test goes by default; None if that is not known."""
        return choosing.truth(symbol, self.known, Setting()) if self.known else None

    # --- branches ---

    def last(self, test: Symbol, assumed: Mapping[Symbol, bool]) -> Symbol | None:
        """Return the test that holds where this one and those of all other choices of an option fail; None for none."""
        option = self.known.get(choosing.option_of(test[1])) if self.known else None
        if option is None or not option.choices or test[2][0] != "const":
            return None
        values = dict.fromkeys((*option.choices, option.default.value))
        tests = [("==", test[1], ("const", each)) for each in values]
        left = [each for each in tests if assumed.get(each) is not False]
        return left[0] if len(left) == 1 else None

    def needs(self, symbol: Symbol) -> Needs | None:
        """Return what an arm of a branch needs; None if the defaults do not decide it, or the parts of the test say it."""
        default = None if self.setting is not None else self.by_default(symbol)
        if default is None or (symbol[0] in ("and", "or") and default is (symbol[0] == "or")):
            return None
        options = dict.fromkeys(choosing.options_in(symbol, self.known))
        chosen = choosing.choose({symbol: not default}, self.known)
        exact = chosen is not None and all(self._is_sure(each, symbol, default=default) for each in chosen.values)
        values = chosen.values if chosen is not None and exact else dict.fromkeys(options, ANOTHER)
        given = choosing.arguments(values, self.known)
        return Needs(not default, choosing.words(values, self.known), repr(list(options)), exact=exact, arguments=given)

    def _is_sure(self, option: Symbol, symbol: Symbol, *, default: bool) -> bool:
        """Whether only one value of an option lets a test go otherwise than by default."""
        known = self.known[option]
        if known is None:
            return False
        positive = symbol[1] if symbol[0] == "not" else symbol
        equals = positive[0] == "==" and default is (symbol[0] == "not")
        two = isinstance(known.default.value, bool) or len(known.choices) == 2
        two = two or known.is_switched(list(choosing.compared(positive, option)))
        return equals or two or known.default.value in (None, "")

    def joins(self, symbol: Symbol | None, first: Changes, mark: int, assumed: Mapping[Symbol, bool]) -> None:
        """Note a test whose arms leave different things behind, on a path that has `assumed` something.

        `first` is what the first arm changed, and the heap has what the second did.
        """
        if self._asks(symbol) and _differ(first, self.heap.changes(mark), self.heap.before(mark)):
            self._matters(symbol, assumed, naming=False)

    def chooses(self, symbol: Symbol | None, first: Value, second: Value, assumed: Mapping[Symbol, bool]) -> None:
        """Note a test that chooses between two values that rules tell apart, as in `a if args.soft else b`.

        The run follows both, so other settings show nothing new: they tell what its findings need.
        """
        if symbol not in self.mattering and self._asks(symbol) and _unlike(None, first, second):
            self._matters(symbol, assumed, naming=True)

    def _asks(self, symbol: Symbol | None) -> TypeGuard[Symbol]:
        """Whether a test is one of options, and it is not known yet that it matters."""
        if self.setting is not None or symbol is None:
            return False
        known = self.mattering.get(symbol, MISSING)
        return (known is MISSING or (isinstance(known, Setting) and known.naming)) and self.by_default(
            symbol
        ) is not None

    def _matters(self, symbol: Symbol, assumed: Mapping[Symbol, bool], *, naming: bool) -> None:
        path = {each: arm for each, arm in assumed.items() if self.by_default(each) is not None}
        found = choosing.choose({**path, symbol: not self.by_default(symbol)}, self.known)
        self.mattering[symbol] = None if found is None else replace(found, naming=naming)

    def settings(self) -> list[Setting]:
        """Return the settings with which the script is executed again: the defaults, and others that matter."""
        found = sorted((each for each in self.mattering.values() if each is not None), key=lambda each: not each.naming)
        others = {each.words: each for each in found}  # of two with the same words the one that shows more
        return [Setting(), *sorted(others.values(), key=lambda each: each.naming)[:MOST]] if self.mattering else []


def _differ(first: Changes, second: Changes, before: Changes) -> bool:
    """Whether two arms leave something that rules tell apart."""
    for place, (fields, key, value) in first.items():
        if _unlike(key, value, second[place][2] if place in second else fields.get(key, MISSING)):
            return True
    return any(
        place not in first and _unlike(key, value, before[place][2]) for place, (_, key, value) in second.items()
    )


def _unlike(key: object, value: object, other: object) -> bool:
    if value is other:
        return False
    tells, others = _tells(key, value), _tells(key, other)
    return tells is not None and others is not None and tells != others


def _tells(key: object, value: object) -> object:
    """What rules tell a value by."""
    if isinstance(key, Fact):
        value = key.unset if value is MISSING else value
        return value.training if isinstance(value, Mode) else value if key is Fact.FROZEN else None
    if isinstance(value, Tensor):
        return value.kind, value.flow.graph
    if isinstance(value, Const):
        return value.value if isinstance(value.value, (bool, str)) else None
    if isinstance(value, (FunctionValue, ClassValue)):
        return value.node
    if isinstance(value, Lib):
        return value.name
    if isinstance(value, Optimizer):
        return value.fact(Fact.TAKEN), value.fact(Fact.COMPLETE)
    if isinstance(value, Object):
        return value.id
    return None
