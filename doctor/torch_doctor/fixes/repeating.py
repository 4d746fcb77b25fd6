"""Edits of lists that hold one object many times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import coded, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

COPY = "$copy.deepcopy({})"


@made.register(edits.Repeat)
def _repeat(edit: edits.Repeat, program: Program) -> Iterator[Piece]:
    found = program.expression(edit.site)
    if isinstance(found, cst.ListComp):
        yield from _copied(program, found.elt)
        return
    if not isinstance(found, cst.BinaryOperation) or not isinstance(found.operator, cst.Multiply):
        raise CannotEditError
    listed, times = (found.left, found.right) if isinstance(found.left, cst.List) else (found.right, found.left)
    if not isinstance(listed, cst.List) or len(listed.elements) != 1 or listed.elements[0].value is None:
        raise CannotEditError
    element = listed.elements[0]
    if isinstance(element, cst.StarredElement):
        raise CannotEditError
    pieces = list(_copied(program, element.value)) if isinstance(element.value, cst.Name | cst.Attribute) else []
    if not pieces and not isinstance(element.value, cst.Call):
        raise CannotEditError
    text = program.code(element.value)
    if pieces:
        text, imports = coded(program, COPY.format(text))
        yield from imports
    yield program.start(found), program.end(found), f"[{text} for _ in range({program.code(times)})]"


def _copied(program: Program, value: cst.BaseExpression) -> Iterator[Piece]:
    """A copy of what has a name."""
    if not isinstance(value, cst.Name | cst.Attribute):
        raise CannotEditError
    text, imports = coded(program, COPY.format(program.code(value)))
    yield from imports
    yield program.start(value), program.end(value), text
