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
KEEPERS = frozenset({"append", "add", "appendleft", "extend", "insert"})


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


@made.register(edits.Wrap)
def _wrap(edit: edits.Wrap, program: Program) -> Iterator[Piece]:
    value = _wrapped(program, edit)
    if edit.expected and (program.code(value) != edit.expected or program.is_display(value)):
        raise CannotEditError
    code, imports = coded(program, edit.code)
    yield from imports
    start, end = program.outer(value)
    if "{}" not in code:
        yield start, end, code
        return
    before, _, after = code.partition("{}")
    bare = not isinstance(value, CLOSED) and not value.lpar and (not before or isinstance(value, cst.Tuple))
    yield start, start, before + "(" * bare
    yield end, end, ")" * bare + after


def _wrapped(program: Program, edit: edits.Wrap) -> cst.BaseExpression:
    """The expression that an edit means."""
    if edit.argument is not None:
        call = program.expression(edit.site)
        if isinstance(call, cst.BinaryOperation) and isinstance(call.operator, cst.Subtract):
            return call.right if edit.argument else call.left
        if not isinstance(call, cst.Call):
            raise CannotEditError
        if edit.argument >= len(call.args) or any(arg.star or arg.keyword for arg in call.args[: edit.argument + 1]):
            raise CannotEditError
        return call.args[edit.argument].value
    try:
        found = program.expression(edit.site)
    except CannotEditError:
        return _kept(program, program.small(edit.site), edit)
    parent = program.parent(found)
    return _kept(program, parent, edit) if isinstance(parent, cst.Expr) and isinstance(found, cst.Call) else found


def _kept(program: Program, small: cst.BaseSmallStatement, edit: edits.Wrap) -> cst.BaseExpression:
    """The value that a statement keeps."""
    if isinstance(small, cst.AugAssign):
        return small.value
    if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
        return _added(program, small) if edit.summand else small.value
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        call = small.value
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in KEEPERS and len(call.args) == 1:
            return call.args[0].value
    raise CannotEditError


def _added(program: Program, small: cst.Assign | cst.AnnAssign) -> cst.BaseExpression:
    """The right side; of `total = total + loss` what is added."""
    value, target = small.value, small.target if isinstance(small, cst.AnnAssign) else small.targets[0].target
    if value is None:
        raise CannotEditError
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Add):
        return value
    if program.code(value.left) == program.code(target):
        return value.right
    if program.code(value.right) == program.code(target):
        return value.left
    raise CannotEditError


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
        small = program.small(edit.site)
        node = small.targets[0].target if isinstance(small, cst.Assign) else None  # type: ignore[assignment]
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


@made.register(edits.Assign)
def _assign(edit: edits.Assign, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    call = small.value if isinstance(small, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        raise CannotEditError
    if not isinstance(call.func.value, cst.Name | cst.Attribute | cst.Subscript):
        raise CannotEditError
    start = program.start(small)
    yield start, start, f"{program.code(call.func.value)} = "


@made.register(edits.Discard)
def _discard(edit: edits.Discard, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    if not isinstance(small, cst.Assign) or len(small.targets) > 1 or not isinstance(small.value, cst.Call):
        raise CannotEditError
    func = small.value.func
    if not isinstance(func, cst.Attribute) or program.code(func.value) != program.code(small.targets[0].target):
        raise CannotEditError
    yield program.start(small), program.outer(small.value)[0], ""


@made.register(edits.Construct)
def _construct(edit: edits.Construct, program: Program) -> Iterator[Piece]:
    call = program.call(edit.site)
    if program.root(call.func) not in program.imported:
        raise CannotEditError  # the class itself is kept under this name, which is for the place that keeps it to mend
    if any(arg.star or (arg.keyword and arg.keyword.value not in ("input", "target")) for arg in call.args):
        raise CannotEditError
    end = program.outer(call.func)[1]
    yield end, end, "()"


@made.register(edits.Swap)
def _swap(edit: edits.Swap, program: Program) -> Iterator[Piece]:
    call = program.call(edit.site)
    if len(call.args) < 2 or any(arg.star or arg.keyword for arg in call.args[:2]):  # noqa: PLR2004 - two are swapped
        raise CannotEditError
    one, two = (program.outer(arg.value) for arg in call.args[:2])
    yield *one, program.between(*two)
    yield *two, program.between(*one)
