"""Functions and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.node import Expr

if TYPE_CHECKING:
    from torch_doctor.static.program.node import At, Stmt
    from torch_doctor.static.program.uses import Uses


class Parameter:
    """A function's parameter; `kind` is "plain", "keyword", "args" or "kwargs"."""

    __slots__ = ("annotation", "at", "default", "kind", "name")

    def __init__(self, at: At, name: str, kind: str, default: Expr | None, annotation: Expr | None) -> None:
        self.at = at
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation


class Function(Expr):
    """A `def` or a lambda. `uses` says which attributes are taken of which names in its body; `calls` which names are called.

    An attribute that is called with positional arguments is in `uses` as `name(...)` too, one that is called without any as
    `name()`, and one that is set as `name=`.

    `inner` marks a function defined inside another one. `shown` is what `using` found in it, once somebody asked. `most` is how
    many arguments it takes by position, `named` which names it takes them by: None where it takes any.
    """

    __slots__ = (
        "body",
        "calls",
        "decorators",
        "generator",
        "inner",
        "most",
        "name",
        "name_at",
        "named",
        "parameters",
        "shown",
        "uses",
    )

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
        self.shown: Uses | None = None
        kinds = [each.kind for each in parameters]
        self.most = None if "args" in kinds else kinds.count("plain")
        self.named = None if "kwargs" in kinds else frozenset(each.name for each in parameters)
