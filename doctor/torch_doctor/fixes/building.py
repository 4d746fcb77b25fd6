"""Assignments that become calls, and classes and objects that are built where they are given their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.renaming import is_variable
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program
TENSORS = frozenset({"input", "target"})
"""What a loss is called with."""


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
    if not isinstance(func, cst.Attribute):
        raise CannotEditError
    if isinstance(func.value, cst.Call):
        yield _built_before(program, small, func)
        return
    if program.code(func.value) != program.code(small.targets[0].target):
        raise CannotEditError
    yield program.start(small), program.outer(small.value)[0], ""


def _built_before(program: Program, small: cst.Assign, method: cst.Attribute) -> Piece:
    """What stands between the object that is built and the method that is called on it: a new row, and its name.

    Raises:
        CannotEditError: the statement shares its row, or brackets go on over it, or what it binds is no name.
    """
    line, target, built = program.parent(small), small.targets[0].target, method.value
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1 or small.value.lpar or method.lpar:
        raise CannotEditError
    place = program.outer(built)[1]
    if not isinstance(target, cst.Name | cst.Attribute) or place[0] != program.start(method.attr)[0]:
        raise CannotEditError
    return place, place, f"\n{program.indent(program.start(line)[0])}{program.code(target)}"


@made.register(edits.Ask)
def _ask(edit: edits.Ask, program: Program) -> Iterator[Piece]:
    small = program.small(edit.site)
    target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
    if not isinstance(small, cst.Assign) or not isinstance(target, cst.Attribute):
        raise CannotEditError
    start, end = program.outer(small.value)
    yield program.start(target.attr), start, f"{edit.method}("
    yield end, end, ")"


@made.register(edits.Construct)
def _construct(edit: edits.Construct, program: Program) -> Iterator[Piece]:
    call = program.call(edit.site)
    if program.root(call.func) not in program.imported:
        end = program.outer(_class_kept(program, call))[1]
        yield end, end, "()"
        return
    settings = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value not in TENSORS]
    if any(arg.star for arg in call.args):
        raise CannotEditError
    end = program.outer(call.func)[1]
    if not settings:
        yield end, end, "()"
        return
    text = program.between(end, program.end(call))
    if "\n" in text or "#" in text:
        raise CannotEditError
    built = ", ".join(map(program.code, settings))
    given = ", ".join(program.code(arg) for arg in call.args if arg not in settings)
    yield end, program.end(call), f"({built})({given})"


def _class_kept(program: Program, call: cst.Call) -> cst.BaseExpression:
    """The class that a name of the file stands for, wherever it is called as a loss.

    Raises:
        CannotEditError: the name may stand for something else, or be used otherwise.
    """
    name = call.func
    if not isinstance(name, cst.Name | cst.Attribute):
        raise CannotEditError
    kept: list[cst.BaseExpression] = []
    for node in program.nodes():
        if (
            not isinstance(node, cst.Name | cst.Attribute)
            or not node.deep_equals(name)
            or not is_variable(program, node)
        ):
            continue
        parent = program.parent(node)
        statement = program.parent(parent) if isinstance(parent, cst.AssignTarget) else None
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1 and program.meant(statement.value):
            kept.append(statement.value)
        elif not (isinstance(parent, cst.Call) and parent.func is node and _gets_tensors(parent)):
            raise CannotEditError
    if len(kept) != 1:
        raise CannotEditError
    return kept[0]


def _gets_tensors(call: cst.Call) -> bool:
    """Whether the first argument of a call is none of a loss's settings."""
    first = call.args[0] if call.args else None
    return first is not None and not first.star and (first.keyword is None or first.keyword.value in TENSORS)
