"""Constructors that call that of their base too late, by another name, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import binds, inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.statements import deleted, first_in, rows_at
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

NAME = "__init__"


@made.register(edits.Initialise)
def _initialise(edit: edits.Initialise, program: Program) -> Iterator[Piece]:
    function = program.compound(edit.site)
    if not isinstance(function, cst.FunctionDef):
        raise CannotEditError
    body = function.body
    found = [line for line in body.body if _base_call(line) is not None]
    if not found:
        yield from made(edits.Insert(edit.site, "super().__init__()", first=True, unless="super"), program)
        return
    if len(found) != 1 or not isinstance(body, cst.IndentedBlock):
        raise CannotEditError
    wrong = list(_mended(program, found[0]))
    yield from wrong or _first(program, body, found[0])


def _base_call(line: cst.CSTNode) -> cst.Call | None:
    """The call of a constructor, rightly spelt or not, that is all there is in a row."""
    only = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    call = only.value if isinstance(only, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    return call if call.func.attr.value.strip("_") in ("init", "inti", "int") else None


def _mended(program: Program, line: cst.CSTNode) -> Iterator[Piece]:
    """What is wrong with the call itself: its name, or a `super` that is bound to no object."""
    call = _base_call(line)
    assert call is not None  # noqa: S101 - as it was found
    assert isinstance(call.func, cst.Attribute)  # noqa: S101 - likewise
    owner, attr = call.func.value, call.func.attr
    bound = isinstance(owner, cst.Call) and isinstance(owner.func, cst.Name) and owner.func.value == "super"
    if attr.value != NAME:
        if not bound:
            raise CannotEditError
        yield program.start(attr), program.end(attr), NAME
    if isinstance(owner, cst.Call) and bound and len(owner.args) == 1:
        yield program.start(owner.args[0]), program.end(owner.args[0].value), ""


def _first(program: Program, body: cst.IndentedBlock, line: cst.CSTNode) -> Iterator[Piece]:
    """A statement that uses nothing which those above it bind, put before them."""
    number = list(body.body).index(line)  # type: ignore[arg-type]  # it stands in it
    used = {node.value for node in inside(line) if isinstance(node, cst.Name)} - {"self", "super"}
    attributes = [program.code(node) for node in inside(line) if isinstance(node, cst.Attribute)]
    if any(binds(program, above, name) for above in body.body[:number] for name in used):
        raise CannotEditError
    if number == 0 or any(name.startswith("self.") for name in attributes):
        raise CannotEditError
    assert isinstance(line, cst.SimpleStatementLine)  # noqa: S101 - as it was found
    row, end_row = program.start(line)[0], program.end(line)[0]
    yield deleted(program, line.body[0])
    yield rows_at(program, first_in(program, body), program.rows[row - 1 : end_row])
