"""The small program that source is lowered to: what the abstract execution needs of Python, and no more.

Every node carries `at`: first row, first column, last row, last column, rows and columns from 1, columns in code points,
the last column exclusive.
"""

from __future__ import annotations

from typing import TypeAlias

At: TypeAlias = tuple[int, int, int, int]


class Node:
    """Something written at a place."""

    __slots__ = ("at",)
    at: At


class Expr(Node):
    """A node that has a value."""

    __slots__ = ()


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
    """An f-string: the expressions inside it."""

    __slots__ = ("parts",)

    def __init__(self, at: At, parts: tuple[Expr, ...]) -> None:
        self.at = at
        self.parts = parts


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


class Parameter:
    """A function's parameter; `kind` is "plain", "keyword", "args" or "kwargs"."""

    __slots__ = ("annotation", "default", "kind", "name")

    def __init__(self, name: str, kind: str, default: Expr | None, annotation: Expr | None) -> None:
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation


class Function(Expr):
    """A `def` or a lambda. `uses` says which attributes are taken of which names in its body; `calls` which names are called.

    `inner` marks a function defined inside another one.
    """

    __slots__ = ("body", "calls", "decorators", "generator", "inner", "name", "name_at", "parameters", "uses")

    def __init__(
        self,
        at: At,
        name: str,
        parameters: tuple[Parameter, ...],
        body: tuple[Stmt, ...],
        decorators: tuple[Expr, ...],
        *,
        generator: bool,
        inner: bool,
    ) -> None:
        self.at = at
        self.name = name
        self.name_at = at
        self.parameters = parameters
        self.body = body
        self.decorators = decorators
        self.generator = generator
        self.inner = inner
        self.uses: dict[str, set[str]] = {}
        self.calls: set[str] = set()


class Stmt(Node):
    """A statement."""

    __slots__ = ()


class Assign(Stmt):
    """`targets[0] = targets[1] = value`."""

    __slots__ = ("targets", "value")

    def __init__(self, at: At, targets: tuple[Expr, ...], value: Expr) -> None:
        self.at = at
        self.targets = targets
        self.value = value


class Augment(Stmt):
    """`target op= value`, and `target = target op value` (then `rebinds`)."""

    __slots__ = ("op", "rebinds", "target", "value")

    def __init__(self, at: At, target: Expr, op: str, value: Expr, *, rebinds: bool) -> None:
        self.at = at
        self.target = target
        self.op = op
        self.value = value
        self.rebinds = rebinds


class Annotate(Stmt):
    """`name: annotation` without a value: a field of a dataclass."""

    __slots__ = ("annotation", "name")

    def __init__(self, at: At, name: str, annotation: Expr) -> None:
        self.at = at
        self.name = name
        self.annotation = annotation


class Evaluate(Stmt):
    """An expression as a statement."""

    __slots__ = ("value",)

    def __init__(self, at: At, value: Expr) -> None:
        self.at = at
        self.value = value


class If(Stmt):
    """`if test: body else: other`."""

    __slots__ = ("body", "other", "test")

    def __init__(self, at: At, test: Expr, body: tuple[Stmt, ...], other: tuple[Stmt, ...]) -> None:
        self.at = at
        self.test = test
        self.body = body
        self.other = other


class For(Stmt):
    """`for target in over: body else: other`; `head` is the header's place."""

    __slots__ = ("body", "head", "other", "over", "target")

    def __init__(
        self, at: At, head: At, target: Expr, over: Expr, body: tuple[Stmt, ...], other: tuple[Stmt, ...]
    ) -> None:
        self.at = at
        self.head = head
        self.target = target
        self.over = over
        self.body = body
        self.other = other


class While(Stmt):
    """`while test: body else: other`; `head` is the header's place."""

    __slots__ = ("body", "head", "other", "test")

    def __init__(self, at: At, head: At, test: Expr, body: tuple[Stmt, ...], other: tuple[Stmt, ...]) -> None:
        self.at = at
        self.head = head
        self.test = test
        self.body = body
        self.other = other


class Handler:
    """`except type as name: body`."""

    __slots__ = ("body", "name")

    def __init__(self, name: str | None, body: tuple[Stmt, ...]) -> None:
        self.name = name
        self.body = body


class Try(Stmt):
    """`try: body except …: … else: other finally: final`."""

    __slots__ = ("body", "final", "handlers", "other")

    def __init__(
        self,
        at: At,
        body: tuple[Stmt, ...],
        handlers: tuple[Handler, ...],
        other: tuple[Stmt, ...],
        final: tuple[Stmt, ...],
    ) -> None:
        self.at = at
        self.body = body
        self.handlers = handlers
        self.other = other
        self.final = final


class With(Stmt):
    """`with context as target: body`; several contexts are nested ones."""

    __slots__ = ("body", "context", "target")

    def __init__(self, at: At, context: Expr, target: Expr | None, body: tuple[Stmt, ...]) -> None:
        self.at = at
        self.context = context
        self.target = target
        self.body = body


class Return(Stmt):
    """`return value`."""

    __slots__ = ("value",)

    def __init__(self, at: At, value: Expr | None) -> None:
        self.at = at
        self.value = value


class Raise(Stmt):
    """`raise`: the path ends; what is raised is not followed."""

    __slots__ = ()

    def __init__(self, at: At) -> None:
        self.at = at


class Break(Stmt):
    """`break`."""

    __slots__ = ()

    def __init__(self, at: At) -> None:
        self.at = at


class Continue(Stmt):
    """`continue`."""

    __slots__ = ()

    def __init__(self, at: At) -> None:
        self.at = at


class Define(Stmt):
    """`def`."""

    __slots__ = ("function",)

    def __init__(self, at: At, function: Function) -> None:
        self.at = at
        self.function = function


class Class(Stmt):
    """`class name(bases, **keywords): body`."""

    __slots__ = ("bases", "body", "decorators", "name")

    def __init__(
        self, at: At, name: str, bases: tuple[Expr, ...], body: tuple[Stmt, ...], decorators: tuple[Expr, ...]
    ) -> None:
        self.at = at
        self.name = name
        self.bases = bases
        self.body = body
        self.decorators = decorators


class Import(Stmt):
    """`import module as name`; without `as`, `name` is the first part of the dotted name."""

    __slots__ = ("alias", "module")

    def __init__(self, at: At, module: str, alias: str | None) -> None:
        self.at = at
        self.module = module
        self.alias = alias


class ImportFrom(Stmt):
    """`from module import name as alias, …`; `level` counts the leading dots; a name "*" takes all."""

    __slots__ = ("level", "module", "names")

    def __init__(self, at: At, module: str, level: int, names: tuple[tuple[str, str], ...]) -> None:
        self.at = at
        self.module = module
        self.level = level
        self.names = names


class Delete(Stmt):
    """`del targets`."""

    __slots__ = ("targets",)

    def __init__(self, at: At, targets: tuple[Expr, ...]) -> None:
        self.at = at
        self.targets = targets


class Outer(Stmt):
    """`global names` or `nonlocal names`."""

    __slots__ = ("is_global", "names")

    def __init__(self, at: At, names: tuple[str, ...], *, is_global: bool) -> None:
        self.at = at
        self.names = names
        self.is_global = is_global


class Program:
    """A file, lowered. `functions` and `classes` are those of its top level, by name, the last definition winning."""

    __slots__ = ("body", "classes", "functions", "uses")

    def __init__(self, body: tuple[Stmt, ...]) -> None:
        self.body = body
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.uses: dict[str, set[str]] = {}
        for statement in body:
            if isinstance(statement, Define):
                self.functions[statement.function.name] = statement.function
            elif isinstance(statement, Class):
                self.classes[statement.name] = statement
