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


@made.register(edits.Keyword)
def _keyword(edit: edits.Keyword, program: Program) -> Iterator[Piece]:
    call = _called(program, edit)
    value, imports = coded(program, edit.value)
    yield from imports
    if any(arg.star for arg in call.args):
        raise CannotEditError
    found = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == edit.name]
    plain = [arg for arg in call.args if arg.keyword is None]
    if not found and edit.position is not None and len(plain) > edit.position:
        found = plain[edit.position :][:1]
    if found and edit.expected and program.code(found[0].value).replace("'", '"') != edit.expected:
        raise CannotEditError
    if found and value:
        start, end = program.outer(found[0].value)
        yield start, end, value
    elif found:
        yield _taken_out(program, call, found[0])
    elif value and call.args:
        last = call.args[-1]
        end = program.outer(last.value)[1]
        rows_apart = program.start(last)[0] != program.end(call)[0] and program.start(call)[0] != program.start(last)[0]
        between = f",\n{program.indent(program.start(last)[0])}" if rows_apart else ", "
        yield end, end, f"{between}{edit.name}={value}"
    elif value:
        row, column = program.end(call)
        yield (row, column - 1), (row, column - 1), f"{edit.name}={value}"


def _called(program: Program, edit: edits.Keyword) -> cst.Call:
    """The call at the site, or the one whose argument of this name has its value there."""
    found = program.expression(edit.site)
    arg = program.parent(found)
    if isinstance(arg, cst.Arg) and arg.keyword is not None and arg.keyword.value == edit.name:
        found = program.parent(arg)  # type: ignore[assignment]
    if not isinstance(found, cst.Call):
        raise CannotEditError
    return found


def _taken_out(program: Program, call: cst.Call, arg: cst.Arg) -> Piece:
    """An argument and one comma beside it."""
    number = call.args.index(arg)
    if len(call.args) == 1:
        row, column = program.end(call)
        return _after_bracket(program, call), (row, column - 1), ""
    if number == len(call.args) - 1:
        return program.outer(call.args[number - 1].value)[1], program.outer(arg.value)[1], ""
    following = call.args[number + 1]
    if arg.keyword is None and following.keyword is None:
        raise CannotEditError  # what comes after it by position would move
    return program.start(arg), program.start(following), ""


def _after_bracket(program: Program, call: cst.Call) -> Place:
    """The place behind the bracket that opens a call's arguments."""
    row, column = program.outer(call.func)[1]
    while program.rows[row - 1][column : column + 1] != "(":
        row, column = (row, column + 1) if column < len(program.rows[row - 1]) else (row + 1, 0)
    return row, column + 1


@made.register(edits.Attribute)
def _attribute(edit: edits.Attribute, program: Program) -> Iterator[Piece]:
    try:
        node = program.expression(edit.site)
    except CannotEditError:
        found = program.statement(edit.site)
        if isinstance(found, cst.FunctionDef) and edit.name:
            yield program.start(found.name), program.end(found.name), edit.name
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
        place = _after_bracket(program, call)
        yield place, place, f"{edit.first}, " if call.args else edit.first


@made.register(edits.Swap)
def _swap(edit: edits.Swap, program: Program) -> Iterator[Piece]:
    call = program.call(edit.site)
    if len(call.args) < 2 or any(arg.star or arg.keyword for arg in call.args[:2]):  # noqa: PLR2004 - two are swapped
        raise CannotEditError
    one, two = (program.outer(arg.value) for arg in call.args[:2])
    yield *one, program.between(*two)
    yield *two, program.between(*one)
