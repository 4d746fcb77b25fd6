"""The statements of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.node import Stmt

if TYPE_CHECKING:
    from torch_doctor.static.program.functions import Function
    from torch_doctor.static.program.node import At, Expr


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

    __slots__ = ("name",)

    def __init__(self, at: At, name: str) -> None:
        self.at = at
        self.name = name


class Evaluate(Stmt):
    """An expression as a statement."""

    __slots__ = ("value",)

    def __init__(self, at: At, value: Expr) -> None:
        self.at = at
        self.value = value


class Assert(Evaluate):
    """`assert value`."""

    __slots__ = ()


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
    """`except type as name: body`; `names` are the types that it names."""

    __slots__ = ("body", "name", "names")

    def __init__(self, name: str | None, body: tuple[Stmt, ...], names: tuple[str, ...] = ()) -> None:
        self.name = name
        self.body = body
        self.names = names


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

    __slots__ = ("bases", "body", "decorators", "keywords", "name")

    def __init__(
        self,
        at: At,
        name: str,
        bases: tuple[Expr, ...],
        body: tuple[Stmt, ...],
        decorators: tuple[Expr, ...],
        keywords: tuple[tuple[str | None, Expr], ...] = (),
    ) -> None:
        self.at = at
        self.name = name
        self.bases = bases
        self.body = body
        self.decorators = decorators
        self.keywords = keywords


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
