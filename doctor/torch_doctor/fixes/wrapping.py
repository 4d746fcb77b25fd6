"""Expressions written into others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import function_of, inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import CLOSED, coded, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

KEEPERS = frozenset({"append", "add", "appendleft", "extend", "insert"})
ELEMENTWISE = (cst.Subtract, cst.Add, cst.Multiply, cst.Divide)
WRITTEN = (cst.Dict, cst.List, cst.Tuple, cst.Set, cst.BaseComp)


@made.register(edits.Wrap)
def _wrap(edit: edits.Wrap, program: Program) -> Iterator[Piece]:
    value = _wrapped(program, edit)
    if edit.key:
        value = _under_key(program, value, edit.key)
    if edit.expected:
        value = _expected(program, value, edit.expected)
    if edit.code.startswith("{}.") and (isinstance(value, WRITTEN) or program.is_display(value)):
        raise CannotEditError  # it is a dict, list or tuple, which has no such method
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
        if isinstance(call, cst.BinaryOperation) and isinstance(call.operator, ELEMENTWISE):
            return call.right if edit.argument else call.left
        if not isinstance(call, cst.Call):
            raise CannotEditError
        if not call.args and edit.argument == 0 and isinstance(call.func, cst.Attribute):
            return call.func.value
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
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if name in KEEPERS and len(call.args) == 1 + (name == "insert"):
            return call.args[-1].value
    raise CannotEditError


def _under_key(program: Program, value: cst.BaseExpression, key: str) -> cst.BaseExpression:
    """What is under a key of a dict, which nothing else changes or reads where it has a name.

    Raises:
        CannotEditError: the source does not show it.
    """
    shown = _shown(program, value) if isinstance(value, cst.Name) else value
    elements = shown.elements if isinstance(shown, cst.Dict) else ()
    found = [
        each
        for each in elements
        if isinstance(each, cst.DictElement)
        and isinstance(each.key, cst.SimpleString)
        and each.key.evaluated_value == key
    ]
    if len(found) != 1:
        raise CannotEditError
    return found[0].value


def _shown(program: Program, name: cst.Name) -> cst.BaseExpression | None:
    """What a name stands for that its function, or the file, assigns once and reads nowhere else."""
    within = function_of(program, name) or program.tree
    uses = [node for node in inside(within) if isinstance(node, cst.Name) and node.value == name.value]
    assigned = [parent for node in uses if isinstance(parent := program.parent(node), cst.AssignTarget)]
    statement = program.parent(assigned[0]) if len(assigned) == 1 else None
    if len(uses) != 2 or not isinstance(statement, cst.Assign) or len(statement.targets) != 1:  # noqa: PLR2004
        return None  # it is assigned, and given to this call
    return statement.value


def _expected(program: Program, value: cst.BaseExpression, code: str) -> cst.BaseExpression:
    """The expression, or the one part of it, that is spelled like this.

    Raises:
        CannotEditError: none is, or several are.
    """
    found = [node for node in parts(program, value) if program.code(node) == code]
    if len(found) != 1:
        raise CannotEditError
    return found[0]


def parts(program: Program, value: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """An expression and all that is evaluated for it once: nothing within functions and comprehensions."""
    parent = program.parent(value)
    named = isinstance(parent, cst.Arg) and parent.keyword is value
    if isinstance(value, cst.BaseExpression) and not named and getattr(parent, "attr", None) is not value:
        yield value
    for child in value.children:
        if not isinstance(child, cst.Lambda | cst.BaseComp):
            yield from parts(program, child)


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
