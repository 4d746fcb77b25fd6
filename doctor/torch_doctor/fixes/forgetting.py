"""Gradients that are cleared where the script updates by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import binds, function_of, inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program


@made.register(edits.Forget)
def _forget(edit: edits.Forget, program: Program) -> Iterator[Piece]:
    update = program.small(edit.site)
    owners = {program.code(node.value): node.value for node in _gradients(update)}
    if len(owners) != 1:
        raise CannotEditError
    name, owner = owners.popitem()
    if not isinstance(owner, cst.Name | cst.Attribute):
        raise CannotEditError
    code = f"{name}.grad = None"
    if edit.before.path == edit.site.path:
        passed = program.small(edit.before)
        function = function_of(program, passed)
        if function is function_of(program, update) and not _is_bound_beside(program, update, passed, name):
            yield from made(edits.Insert(edit.before, code), program)
            return
    other = program.beside(edit.before.path)
    used = [*_of_function(program, update), *_of_function(other, other.small(edit.before))]
    if any(node not in set(_gradients(update)) for node in used):
        raise CannotEditError  # it is read after the update, too
    yield from made(edits.Insert(edit.site, code, after=True), program)


def _gradients(node: cst.CSTNode) -> Iterator[cst.Attribute]:
    """Where a statement or a function reads or sets a gradient."""
    return (each for each in inside(node) if isinstance(each, cst.Attribute) and each.attr.value == "grad")


def _of_function(program: Program, node: cst.CSTNode) -> Iterator[cst.Attribute]:
    return _gradients(function_of(program, node) or program.tree)


def _is_bound_beside(program: Program, update: cst.CSTNode, passed: cst.CSTNode, name: str) -> bool:
    """Whether the name gets what is updated only behind the backward pass, or in a loop that this is not in."""
    around = set(program.around(passed))
    for node in inside(function_of(program, passed) or program.tree):
        if node is update or not isinstance(node, cst.For | cst.Assign | cst.AnnAssign | cst.NamedExpr):
            continue
        behind = program.start(node) > program.start(passed)
        other = isinstance(node, cst.For) and node not in around and update in set(inside(node))
        if (behind or other) and binds(program, node, name):
            return True
    return False
