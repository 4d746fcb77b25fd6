"""Keyword arguments of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import after_bracket, coded, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program


@made.register(edits.Keyword)
def _keyword(edit: edits.Keyword, program: Program) -> Iterator[Piece]:
    call = _called(program, edit)
    value, imports = coded(program, edit.value)
    if edit.like:
        value = _given(program, call, edit.like)
    yield from imports
    found = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == edit.name]
    plain = [arg for arg in call.args if arg.keyword is None]
    starred = [arg for arg in call.args if arg.star]
    if starred:
        if found or value or not edit.otherwise or [arg.star for arg in starred] != ["**"]:
            raise CannotEditError
        start, end = program.outer(starred[0].value)
        yield start, end, f'{{**{program.between(start, end)}, "{edit.name}": {edit.otherwise}}}'
        return
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


def _given(program: Program, call: cst.Call, name: str) -> str:
    """What a call gives another keyword, where it may be evaluated twice.

    Raises:
        CannotEditError: it gives it nothing that may be.
    """
    given = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == name]
    if len(given) != 1 or any(isinstance(node, cst.Call | cst.NamedExpr | cst.Await) for node in inside(given[0])):
        raise CannotEditError
    return program.code(given[0])


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
        return after_bracket(program, call), (row, column - 1), ""
    if number == len(call.args) - 1:
        return program.outer(call.args[number - 1].value)[1], program.outer(arg.value)[1], ""
    following = call.args[number + 1]
    if arg.keyword is None and following.keyword is None:
        raise CannotEditError  # what comes after it by position would move
    return program.start(arg), program.start(following), ""
