"""Edits of functions that are applied one after the other, and of layers where they are built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import CLOSED, coded, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program


@made.register(edits.Fuse)
def _fuse(edit: edits.Fuse, program: Program) -> Iterator[Piece]:
    outer, inner = program.call(edit.site), program.call(edit.inner)
    method = isinstance(outer.func, cst.Attribute) and outer.func.value is inner
    if not method and [arg.value for arg in outer.args] != [inner]:
        raise CannotEditError
    if method and outer.args:
        raise CannotEditError
    start, end = program.start(inner), program.end(inner)
    text = program.between(start, end)
    if edit.function:
        text = _of(program, inner, text)
        name, imports = coded(program, f"${edit.function}")
        yield from imports
        text = f"{name}({text})"
    else:
        if not isinstance(inner.func, cst.Attribute):
            raise CannotEditError
        text = (
            program.between(start, program.start(inner.func.attr))
            + edit.name
            + program.between(program.end(inner.func.attr), end)
        )
    yield program.start(outer), program.end(outer), text


def _of(program: Program, inner: cst.Call, text: str) -> str:
    """The text of the one thing that a call is applied to."""
    func = inner.func
    if not inner.args and isinstance(func, cst.Attribute) and not program.meant(func.value):
        return text[: text.rindex(f".{func.attr.value}")]
    if len(inner.args) == 1 and not inner.args[0].star and not inner.args[0].keyword:
        return program.code(inner.args[0].value)
    raise CannotEditError


@made.register(edits.Rebuild)
def _rebuild(edit: edits.Rebuild, program: Program) -> Iterator[Piece]:
    call = program.call(edit.site)
    if not program.meant(call.func):
        call = _built(program, call)
    if edit.name:
        if not isinstance(call.func, cst.Attribute):
            raise CannotEditError
        yield program.start(call.func.attr), program.end(call.func.attr), edit.name
    if edit.keyword:
        if any(arg.star or (arg.keyword is not None and arg.keyword.value == edit.keyword) for arg in call.args):
            raise CannotEditError
        row, column = program.end(call)
        place = program.outer(call.args[-1].value)[1] if call.args else (row, column - 1)
        yield place, place, f"{', ' * bool(call.args)}{edit.keyword}={edit.value}"


def _built(program: Program, call: cst.Call) -> cst.Call:
    """The call that builds the layer which is called as an attribute."""
    around = next((node for node in program.around(call) if isinstance(node, cst.ClassDef)), None)
    found = [
        node
        for node in program.nodes()
        if isinstance(node, cst.Assign)
        and any(target.target.deep_equals(call.func) for target in node.targets)
        and around is not None
        and around in program.around(node)
    ]
    if not isinstance(call.func, cst.Attribute) or len(found) != 1 or not isinstance(found[0].value, cst.Call):
        raise CannotEditError
    if not program.meant(found[0].value.func):
        raise CannotEditError
    return found[0].value


@made.register(edits.Inward)
def _inward(edit: edits.Inward, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    outer = small.value if isinstance(small, cst.Assign | cst.AnnAssign) else None
    if not isinstance(outer, cst.Call) or not isinstance(outer.func, cst.Attribute):
        raise CannotEditError
    inner = outer.func.value
    if not isinstance(inner, cst.Call) or not inner.args or inner.args[0].star:
        raise CannotEditError
    if program.root(inner.func) not in program.imported or program.code(inner.func).rpartition(".")[2] != edit.name:
        raise CannotEditError
    if inner.args[0].keyword is not None and inner.args[0].keyword.value != "data":
        raise CannotEditError
    value, method = inner.args[0].value, program.between(program.outer(inner)[1], program.end(outer))
    bare = not isinstance(value, CLOSED) and not value.lpar
    start, end = program.outer(value)
    if bare:
        yield start, start, "("
    yield end, end, ")" * bare + method
    yield program.outer(inner)[1], program.end(outer), ""
