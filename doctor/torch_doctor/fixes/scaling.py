"""Calls that the protocol of gradient scalers lacks, and losses that are divided by the number of micro-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import function_of, inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import CLOSED, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program
    from torch_doctor.trace import Site


@made.register(edits.Scale)
def _scale(edit: edits.Scale, program: Program) -> Iterator[Piece]:
    call, other = _in_one_function(program, edit.site, edit.of)
    if edit.call == "step":
        scaler, optimizer = _owner(_owner(other, "backward"), "scale"), _owner(call, "step")
        if call.args:
            raise CannotEditError
    else:
        scaler, optimizer = _owner(other, "step"), other.args[0].value if len(other.args) == 1 else other
    names = (cst.Name, cst.Attribute)
    if not isinstance(scaler, names) or not isinstance(optimizer, names):
        raise CannotEditError
    name, given = program.code(scaler), program.code(optimizer)
    if edit.call == "unscale_":
        if not _is_unscaled(program, call, scaler, given, again=edit.site != edit.of):
            yield from made(edits.Insert(edit.site, f"{name}.unscale_({given})"), program)
    elif edit.call == "scale":
        lost = _owner(call, "backward")
        start, end = program.outer(lost)
        yield start, end, f"{name}.scale({program.code(lost)})"
    else:
        if edit.call == "step":
            yield program.start(call), program.end(call), f"{name}.step({given})"
            if _called(program, call, scaler, "update"):
                return
        elif len(_called(program, call, scaler, "step")) > 1:
            raise CannotEditError  # one update follows all of them
        yield from made(edits.Insert(edit.site, f"{name}.update()", after=True), program)


def _in_one_function(program: Program, *sites: Site) -> list[cst.Call]:
    """The calls at two sites, where what has a name has it at both.

    Raises:
        CannotEditError: they are in different functions or files.
    """
    if sites[0].path != sites[1].path:
        raise CannotEditError
    calls = [program.call(site) for site in sites]
    if function_of(program, calls[0]) is not function_of(program, calls[1]):
        raise CannotEditError
    return calls


def _owner(value: cst.BaseExpression, method: str) -> cst.BaseExpression:
    """What the method is called on.

    Raises:
        CannotEditError: the expression is no call of it.
    """
    func = value.func if isinstance(value, cst.Call) else None
    if not isinstance(func, cst.Attribute) or func.attr.value != method:
        raise CannotEditError
    return func.value


def _called(program: Program, node: cst.CSTNode, owner: cst.BaseExpression, method: str) -> list[cst.Call]:
    """The calls of the method in the function around a node, or in the file."""
    wanted = cst.Attribute(owner, cst.Name(method))
    nodes = inside(function_of(program, node) or program.tree)
    return [each for each in nodes if isinstance(each, cst.Call) and each.func.deep_equals(wanted)]


def _is_unscaled(program: Program, call: cst.Call, scaler: cst.BaseExpression, optimizer: str, *, again: bool) -> bool:
    """Whether the gradients of an optimizer are unscaled above a call; `again`: they are to be unscaled in another place.

    Raises:
        CannotEditError: they would be unscaled twice for one step, which is an error.
    """
    done = [each for each in _called(program, call, scaler, "unscale_") if optimizer in map(program.code, each.args)]
    if done and (again or program.start(done[-1]) > program.start(call)):
        raise CannotEditError
    return bool(done)


@made.register(edits.Divide)
def _divide(edit: edits.Divide, program: Program) -> Iterator[Piece]:
    if edit.site.path != edit.by.path:
        raise CannotEditError
    call, test = program.call(edit.site), program.expression(edit.by)
    if function_of(program, call) is not function_of(program, test):
        raise CannotEditError
    rests = [
        node.right
        for node in (test, *inside(test))
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo)
    ]
    if not rests or not all(each.deep_equals(rests[0]) for each in rests):
        raise CannotEditError
    if not isinstance(rests[0], cst.Name | cst.Attribute | cst.Integer):
        raise CannotEditError
    lost, number = _owner(call, "backward"), program.code(rests[0])
    if isinstance(lost, cst.Call) and isinstance(lost.func, cst.Attribute) and lost.func.attr.value == "scale":
        if len(lost.args) != 1 or lost.args[0].star or lost.args[0].keyword:
            raise CannotEditError
        yield from _by(program, lost.args[0].value, number, bare=True)
    else:
        yield from _by(program, lost, number, bare=False)


def _by(program: Program, value: cst.BaseExpression, number: str, *, bare: bool) -> Iterator[Piece]:
    """A value divided by a number; in brackets unless the quotient may stand `bare`."""
    start, end = program.outer(value)
    closed = isinstance(value, CLOSED) or bool(value.lpar)
    yield start, start, "(" * (not bare) + "(" * (not closed)
    yield end, end, ")" * (not closed) + f" / {number}" + ")" * (not bare)
