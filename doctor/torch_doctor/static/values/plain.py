"""The values that need no identity: constants, plain values, unknown ones, and one of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import EMPTY, UNSEEN, Flow, alternatives
from torch_doctor.static.values.origin import NOWHERE, Origin
from torch_doctor.static.values.shapes import NUMEL
from torch_doctor.static.values.symbols import MADE, NEUTRAL, UNTOLD, VERSION, fresh_symbol, joined_outcome, of_version
from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch_doctor.static.values.shapes import Making
    from torch_doctor.static.values.symbols import Conditions, Symbol
    from torch_doctor.trace import Site


class Missing(Value):
    """No value: a variable or attribute that is not there."""

    __slots__ = ()


MISSING = Missing()


class Const(Value):
    """A value that is known exactly."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


NOTHING = Const(None)


class Zero(Const):
    """A number zero that was assigned, at `site`: a sum may start with it."""

    __slots__ = ("site",)

    def __init__(self, value: object, site: Site) -> None:
        super().__init__(value)
        self.site = site


class Default(Const):
    """A number that a setting has where the user says nothing else: what follows from it holds, and tests are undecided."""

    __slots__ = ("symbol",)

    def __init__(self, value: float, symbol: Symbol) -> None:
        super().__init__(value)
        self.symbol = symbol


class Plain(Value):
    """A number, string, array or setting: holds no graph and nothing that trains. Its value is not known.

    `size` tells, of one that is a size, the shape or the dtype of a tensor, of which, and of one that is a number that it is.
    """

    __slots__ = ("_symbol", "size")

    def __init__(self, symbol: Symbol | None = None, size: Making | None = None) -> None:
        self._symbol = symbol
        self.size = size

    @property
    def symbol(self) -> Symbol:
        """What identifies it in tests."""
        if self._symbol is None:
            known = self.size is not None and self.size.name in ("shape", "size")
            self._symbol = (UNTOLD, self.size) if known else fresh_symbol()
        return self._symbol

    @property
    def tells_version(self) -> bool:
        """Whether it is computed of which version of a library is there."""
        return self._symbol is not None and of_version(self._symbol)


class OneOfTexts(Plain):
    """One of a few strings, nobody knows which: what is the same for all of them is known."""

    __slots__ = ("texts",)

    def __init__(self, texts: tuple[str, ...]) -> None:
        super().__init__()
        self.texts = texts

    def answer(self, ask: Callable[[str], bool]) -> bool | None:
        """What all of them answer; None where they differ."""
        answers = {ask(text) for text in self.texts}
        return answers.pop() if len(answers) == 1 else None


class Number(Plain):
    """A number or array that was read from tensors: `flow` says from which."""

    __slots__ = ("flow",)

    def __init__(self, flow: Flow, symbol: Symbol | None = None, size: Making | None = None) -> None:
        super().__init__(symbol, size)
        self.flow = flow


def plain_from(
    values: Iterable[Value], symbol: Symbol | None = None, flow: Flow = EMPTY, size: Making | None = None
) -> Plain:
    """A plain value that was computed from these values, or from what has this flow; it remembers where graphs were cut."""
    values = tuple(values)
    if symbol is None and any(value.tells_version for value in values):
        symbol = fresh_symbol(VERSION)
    flows = [of for value in values if (of := value.flow) is not EMPTY]
    if not flow.means and not any(
        each.cuts or each.sums or each.rows or each.chance or each.lost for each in (flow, *flows)
    ):
        return Plain(symbol, size)
    cuts = flow.cuts.union(*(each.cuts for each in flows))
    sums = flow.sums.union(*(each.sums for each in flows))
    rows = flow.rows.union(*(each.rows for each in flows))
    chance = any(each.chance for each in (flow, *flows)) or None
    lost = flow.lost.union(*(each.lost for each in flows))
    return Number(Flow(cuts=cuts, sums=sums, rows=rows, means=flow.means, chance=chance, lost=lost), symbol, size)


NUMBERS = {bool: "bool", int: "int64", float: "floating"}


def number_dtype(value: Value) -> str:
    """The dtype that a number gets in a tensor; "" for what is none, or not known to be one."""
    if isinstance(value, Const):
        return NUMBERS.get(type(value.value), "")
    if isinstance(value, Plain) and value.size is not None:
        return (
            "int64" if value.size.name in ("size", NUMEL) else str(value.size.of) if value.size.name == "number" else ""
        )
    return ""


class Unknown(Value):
    """Anything at all. `flow` is what it may carry, `holds` the objects that it may hold on to.

    `origin` is where it comes from, and where it is.
    """

    __slots__ = ("_symbol", "flow", "holds", "origin")

    def __init__(
        self,
        flow: Flow = UNSEEN,
        holds: frozenset[int] = frozenset(),
        symbol: Symbol | None = None,
        origin: Origin = NOWHERE,
    ) -> None:
        self.flow = flow
        self.holds = holds
        self._symbol = symbol
        self.origin = origin

    @property
    def symbol(self) -> Symbol:
        """What identifies it in tests."""
        if self._symbol is None:
            self._symbol = fresh_symbol()
        return self._symbol

    @property
    def tells_version(self) -> bool:
        """Whether it is computed of which version of a library is there."""
        return self._symbol is not None and of_version(self._symbol)

    @property
    def neutral(self) -> bool:
        """Whether it is a library's that switches nothing on or off when it is entered."""
        return self._symbol is not None and self._symbol[0] == NEUTRAL

    @property
    def confined(self) -> bool:
        """Whether a library made it of nothing but what it holds."""
        symbol = self.symbol
        while symbol[0] in (".", ".()"):
            symbol = symbol[1]
        return symbol[0] in (NEUTRAL, MADE)

    def at(self, place: Origin) -> Unknown:
        """The same thing somewhere else, or where that is known otherwise."""
        return Unknown(self.flow, self.holds, self.symbol, place)


class UnknownAttribute(Unknown):
    """An attribute of something unknown: `name` of `of`."""

    __slots__ = ("name", "of")

    def __init__(self, of: Unknown, name: str, flow: Flow, origin: Origin = NOWHERE) -> None:
        super().__init__(flow, of.holds, (".", of.symbol, name), origin)
        self.of = of
        self.name = name

    def at(self, place: Origin) -> UnknownAttribute:
        """The same attribute somewhere else, or where that is known otherwise."""
        return UnknownAttribute(self.of, self.name, self.flow, place)


class Either(Value):
    """One of a few values; each option says what must hold for it."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[tuple[Conditions, Value], ...]) -> None:
        self.options = options

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the options
        """What any of the options may carry."""
        first, *rest = (value.flow for _, value in self.options)
        for flow in rest:
            first = alternatives(first, flow)
        return first

    def under(self, assumed: dict[Symbol, bool]) -> list[tuple[Conditions, Value]]:
        """The options that tests with these outcomes allow."""
        found = []
        for option in self.options:
            for symbol, arm in option[0]:
                if assumed.get(symbol, arm) is not arm:
                    break
            else:
                found.append(option)
        if len(found) > 1 and any(symbol[0] in ("and", "or") for symbol in assumed):
            return [option for option in found if _agree(assumed | dict(option[0]))]
        return found


def _agree(outcomes: dict[Symbol, bool]) -> bool:
    """Whether no test that is made of others goes otherwise than these do."""
    return all(joined_outcome(symbol, outcomes) in (None, arm) for symbol, arm in outcomes.items())


class Lib(Value):
    """Something of a library that is not part of the project, by its dotted name.

    `reported`: the script gave it a name of its own, and what is to be said of it was said there.
    """

    __slots__ = ("name", "reported")

    def __init__(self, name: str, *, reported: bool = False) -> None:
        self.name = name
        self.reported = reported


def constant(value: Value) -> object:
    """The Python value of a constant, None for anything else."""
    return value.value if isinstance(value, Const) else None
