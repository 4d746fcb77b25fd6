"""The expressions of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.node import Expr

if TYPE_CHECKING:
    from torch_doctor.static.program.node import At


class Const(Expr):
    """A literal: string, number, bytes, True, False, None, `...`."""

    __slots__ = ("value",)

    def __init__(self, at: At, value: object) -> None:
        self.at = at
        self.value = value


class Name(Expr):
    """A variable that is read or written."""

    __slots__ = ("id",)

    def __init__(self, at: At, id: str) -> None:  # noqa: A002 - the field's name in Python's own tree
        self.at = at
        self.id = id


class Attribute(Expr):
    """`value.name`."""

    __slots__ = ("name", "value")

    def __init__(self, at: At, value: Expr, name: str) -> None:
        self.at = at
        self.value = value
        self.name = name


class Call(Expr):
    """`func(*args, **keywords)`; a keyword without a name is `**value`, a starred argument is a `Star`."""

    __slots__ = ("args", "func", "keywords")

    def __init__(
        self, at: At, func: Expr, args: tuple[Expr, ...], keywords: tuple[tuple[str | None, Expr], ...]
    ) -> None:
        self.at = at
        self.func = func
        self.args = args
        self.keywords = keywords


class Index(Expr):
    """`value[key]`."""

    __slots__ = ("key", "value")

    def __init__(self, at: At, value: Expr, key: Expr) -> None:
        self.at = at
        self.value = value
        self.key = key


class Slice(Expr):
    """`lower:upper:step` inside an index; parts that are not written are None."""

    __slots__ = ("lower", "step", "upper")

    def __init__(self, at: At, lower: Expr | None, upper: Expr | None, step: Expr | None) -> None:
        self.at = at
        self.lower = lower
        self.upper = upper
        self.step = step


class Operation(Expr):
    """An arithmetic operator; `op` is its sign, a unary one has one operand."""

    __slots__ = ("op", "operands")

    def __init__(self, at: At, op: str, operands: tuple[Expr, ...]) -> None:
        self.at = at
        self.op = op
        self.operands = operands


class Compare(Expr):
    """`left op right`; a chain of comparisons is an `and` of these."""

    __slots__ = ("left", "op", "right")

    def __init__(self, at: At, op: str, left: Expr, right: Expr) -> None:
        self.at = at
        self.op = op
        self.left = left
        self.right = right


class Logic(Expr):
    """`and`, `or` (two operands or more) or `not` (one)."""

    __slots__ = ("op", "operands")

    def __init__(self, at: At, op: str, operands: tuple[Expr, ...]) -> None:
        self.at = at
        self.op = op
        self.operands = operands


class Choice(Expr):
    """`then if test else other`."""

    __slots__ = ("other", "test", "then")

    def __init__(self, at: At, test: Expr, then: Expr, other: Expr) -> None:
        self.at = at
        self.test = test
        self.then = then
        self.other = other


class Display(Expr):
    """A list, tuple or set written out; `kind` is its type's name."""

    __slots__ = ("items", "kind")

    def __init__(self, at: At, kind: str, items: tuple[Expr, ...]) -> None:
        self.at = at
        self.kind = kind
        self.items = items


class Dict(Expr):
    """A dict written out; a pair without a key is `**value`."""

    __slots__ = ("pairs",)

    def __init__(self, at: At, pairs: tuple[tuple[Expr | None, Expr], ...]) -> None:
        self.at = at
        self.pairs = pairs


class Clause:
    """One `for target in over if tests` of a comprehension."""

    __slots__ = ("over", "target", "tests")

    def __init__(self, target: Expr, over: Expr, tests: tuple[Expr, ...]) -> None:
        self.target = target
        self.over = over
        self.tests = tests


class Comprehension(Expr):
    """A comprehension; `kind` is "list", "set", "dict" or "generator"; `key` is set for a dict."""

    __slots__ = ("clauses", "element", "key", "kind")

    def __init__(self, at: At, kind: str, key: Expr | None, element: Expr, clauses: tuple[Clause, ...]) -> None:
        self.at = at
        self.kind = kind
        self.key = key
        self.element = element
        self.clauses = clauses


class Text(Expr):
    """An f-string: the expressions inside it. `layout` is the text between them, with None in the place of each.

    `formats` has the format of each expression, "" where there is none.
    """

    __slots__ = ("formats", "layout", "parts")

    def __init__(
        self, at: At, parts: tuple[Expr, ...], layout: tuple[str | None, ...], formats: tuple[str, ...]
    ) -> None:
        self.at = at
        self.parts = parts
        self.layout = layout
        self.formats = formats


class Star(Expr):
    """`*value` in a call, a display or a target."""

    __slots__ = ("value",)

    def __init__(self, at: At, value: Expr) -> None:
        self.at = at
        self.value = value


class Walrus(Expr):
    """`target := value`."""

    __slots__ = ("target", "value")

    def __init__(self, at: At, target: Name, value: Expr) -> None:
        self.at = at
        self.target = target
        self.value = value


class Yield(Expr):
    """`yield value`; `many` for `yield from`."""

    __slots__ = ("many", "value")

    def __init__(self, at: At, value: Expr | None, *, many: bool) -> None:
        self.at = at
        self.value = value
        self.many = many


class Opaque(Expr):
    """An expression whose value the program does not follow (a pattern's outcome)."""

    __slots__ = ()

    def __init__(self, at: At) -> None:
        self.at = at
