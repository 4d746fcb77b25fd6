"""Each kind of edit as a change of text: libcst says where what lies, and nothing else of the file is touched."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.naming import named
from torch_doctor.fixes.program import CannotEditError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit
    from torch_doctor.fixes.program import Piece, Place, Program

CLOSED = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp,
          cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString)  # fmt: skip


def pieces(program: Program, edit: Edit) -> list[Piece]:
    """What is written where, from which place to which.

    Raises:
        CannotEditError: the source is not as the edit needs it.
    """
    return list(made(edit, program))


@singledispatch
def made(edit: Edit, program: Program) -> Iterator[Piece]:
    """The pieces of one kind of edit; each kind registers its own."""
    raise NotImplementedError(type(edit), program)


def coded(program: Program, code: str) -> tuple[str, list[Piece]]:
    """Code in the file's own names, and the imports that it needs."""
    text, modules = named(program, code)
    imports = []
    for module in dict.fromkeys(modules):
        place, below = program.place_for_import(module)
        imports.append((place, place, f"import {module}\n{below}"))
    return text, imports


@made.register(edits.Attribute)
def _attribute(edit: edits.Attribute, program: Program) -> Iterator[Piece]:
    try:
        node = program.expression(edit.site)
    except CannotEditError:
        found = program.statement(edit.site)
        if isinstance(found, cst.FunctionDef) and edit.name:
            for name in (found.name, *_of_base(program, found)):
                yield program.start(name), program.end(name), edit.name
            return
        node = found.targets[0].target if isinstance(found, cst.Assign) else None  # type: ignore[assignment]
    if isinstance(node, cst.Call):
        node = node.func
    if not isinstance(node, cst.Attribute):
        raise CannotEditError
    start, end = program.start(node.attr), program.end(node.attr)
    if not edit.name:
        start = program.outer(node.value)[1]
    yield start, end, edit.name


def _of_base(program: Program, function: cst.FunctionDef) -> Iterator[cst.Name]:
    """The name of a method where it calls that of its base class: it was meant there, too."""
    for node in program.nodes():
        if (
            isinstance(node, cst.Attribute)
            and node.attr.value == function.name.value
            and isinstance(node.value, cst.Call)
            and program.root(node.value.func) == "super"
            and program.start(function) < program.start(node) < program.end(function)
        ):
            yield node.attr


@made.register(edits.Successor)
def _successor(edit: edits.Successor, program: Program) -> Iterator[Piece]:
    func = program.expression(edit.site)
    call = program.parent(func)
    if not isinstance(call, cst.Call) or call.func is not func:
        raise CannotEditError
    if edit.first and any(arg.keyword is None for arg in call.args):
        raise CannotEditError
    parent, _, method = edit.name.rpartition(".")
    if isinstance(func, cst.Attribute) and program.meant(func.value) == parent:
        yield program.start(func.attr), program.end(func.attr), method
    else:
        name, imports = coded(program, f"${edit.name}")
        yield from imports
        yield program.start(func), program.end(func), name
    if edit.first:
        place = after_bracket(program, call)
        yield place, place, f"{edit.first}, " if call.args else edit.first


@made.register(edits.Swap)
def _swap(edit: edits.Swap, program: Program) -> Iterator[Piece]:
    call = program.call(edit.site)
    if len(call.args) < 2 or any(arg.star or arg.keyword for arg in call.args[:2]):  # noqa: PLR2004 - two are swapped
        raise CannotEditError
    one, two = (program.outer(arg.value) for arg in call.args[:2])
    yield *one, program.between(*two)
    yield *two, program.between(*one)


def after_bracket(program: Program, call: cst.Call) -> Place:
    """The place behind the bracket that opens a call's arguments."""
    row, column = program.outer(call.func)[1]
    while program.rows[row - 1][column : column + 1] != "(":
        row, column = (row, column + 1) if column < len(program.rows[row - 1]) else (row + 1, 0)
    return row, column + 1
