"""A whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.expressions import Attribute, Display, Name
from torch_doctor.static.program.functions import Function
from torch_doctor.static.program.node import Expr, Node
from torch_doctor.static.program.statements import Assign, Augment, Class, Define

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.program.node import Stmt
    from torch_doctor.static.program.statements import Import, ImportFrom


class Program:
    """A file, lowered. `functions` and `classes` are those of its top level, by name, the last definition winning.

    `imports` are its imports, wherever they stand.
    """

    __slots__ = ("_assigned", "body", "classes", "functions", "imports", "uses")

    def __init__(self, body: tuple[Stmt, ...], imports: tuple[Import | ImportFrom, ...]) -> None:
        self.body = body
        self.imports = imports
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.uses: dict[str, set[str]] = {}
        self._assigned: frozenset[str] | None = None
        for statement in body:
            if isinstance(statement, Define):
                self.functions[statement.function.name] = statement.function
            elif isinstance(statement, Class):
                self.classes[statement.name] = statement

    @property
    def assigned(self) -> frozenset[str]:
        """Names of attributes that something besides a constructor assigns, whatever they belong to."""
        if self._assigned is None:
            self._assigned = frozenset(_assigned(self.body))
        return self._assigned


def _assigned(body: tuple[Stmt, ...]) -> Iterator[str]:
    waiting: list[tuple[object, str]] = [(statement, "") for statement in body]
    while waiting:
        part, maker = waiting.pop()
        if isinstance(part, (tuple, list)):
            waiting.extend((each, maker) for each in part)
        elif isinstance(part, Function):
            first = part.parameters[0].name if part.name == "__init__" and part.parameters else ""
            waiting.append((part.body, first))
        elif isinstance(part, Node) and not isinstance(part, Expr):
            targets = part.targets if isinstance(part, Assign) else (part.target,) if isinstance(part, Augment) else ()
            yield from (name for target in targets for name in _attributes(target, maker))
            waiting.extend((getattr(part, slot, None), maker) for kind in type(part).__mro__ for slot in _slots(kind))


def _slots(kind: type) -> tuple[str, ...]:
    found: tuple[str, ...] = vars(kind).get("__slots__", ())
    return found


def _attributes(target: Expr, maker: str) -> Iterator[str]:
    if isinstance(target, Attribute) and not (isinstance(target.value, Name) and target.value.id == maker):
        yield target.name
    elif isinstance(target, Display):
        for item in target.items:
            yield from _attributes(item, maker)
