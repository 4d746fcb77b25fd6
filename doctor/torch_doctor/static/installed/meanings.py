"""What expressions in the sources of a library stand for, as far as that decides which modules it builds."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from astroid import nodes

Lean: TypeAlias = tuple[str, int]
"""A parameter of the call that is asked about: its name, and its position (-1: by name only)."""
Leans: TypeAlias = frozenset[Lean]
NONE: Leans = frozenset()


class Dotted(Struct, frozen=True):
    """Something that is not in the library's own sources, or one of its modules, by its dotted name."""

    name: str

    @property
    def torch(self) -> str:
        """Its name in torch; empty where it is something else."""
        return self.name if self.name.startswith("torch.") else ""


class Defined(Struct, frozen=True):
    """A class or a function of the library."""

    node: nodes.ClassDef | nodes.FunctionDef


class Literal(Struct, frozen=True):
    """A number, a string, None."""

    value: object


class Table(Struct, frozen=True):
    """A dict whose keys are names. `open`: it may have more; `asked`: those are what the caller gave by name."""

    items: tuple[tuple[str, Known], ...]
    open: bool = False
    asked: bool = False


class Made(Struct, frozen=True):
    """What a call of a class returns."""

    what: Dotted | Defined
    given: Given


class Unclear(Struct, frozen=True):
    """Anything else."""


Meaning: TypeAlias = Dotted | Defined | Literal | Table | Made | Unclear


class Known(Struct, frozen=True):
    """What an expression stands for, and the parameters of which that holds as long as they have their defaults."""

    what: Meaning
    leans: Leans = NONE


class Given(Struct, frozen=True):
    """The arguments of a call. `rest`: others may be given, by the caller (`asked`) or by whoever."""

    args: tuple[Known, ...] = ()
    keywords: tuple[tuple[str, Known], ...] = ()
    rest: bool = False
    asked: bool = False

    def argument(self, position: int, name: str) -> Known | None:
        """An argument by its position or its name; None where it is not given."""
        by_name = dict(self.keywords).get(name)
        return by_name if by_name is not None or position >= len(self.args) else self.args[position]


UNCLEAR = Known(Unclear())


def truth(known: Known) -> bool | None:
    """Whether it counts as true."""
    match known.what:
        case Literal(value):
            return bool(value)
        case Dotted() | Defined() | Made():
            return True
        case _:
            return None


_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def as_dict(given: Given) -> Table:
    """`dict(defaults, **kwargs)`."""
    first = given.args[0].what if given.args else Table(())
    known = dict(first.items) if isinstance(first, Table) else {}
    return Table(
        tuple({**known, **dict(given.keywords)}.items()), given.rest or not isinstance(first, Table), given.asked
    )


def computed(sign: str, left: Known, right: Known) -> Known:
    """What arithmetic gives."""
    leans = left.leans | right.leans
    numbers = [each.what.value for each in (left, right) if isinstance(each.what, Literal)]
    if any(isinstance(number, (int, float)) and not number for number in numbers) and sign == "*":
        return Known(Literal(0), leans)
    if sign in _COMPUTED and len(numbers) == 2 and all(isinstance(number, (int, float)) for number in numbers):
        try:
            return Known(Literal(_COMPUTED[sign](*numbers)), leans)
        except (ArithmeticError, ValueError):
            return UNCLEAR
    return Known(UNCLEAR.what, leans)
