"""A whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.statements import Class, Define

if TYPE_CHECKING:
    from torch_doctor.static.program.functions import Function
    from torch_doctor.static.program.node import Stmt


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
