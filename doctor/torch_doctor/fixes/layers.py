"""Functions and layers taken out: what they are applied to stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.statements import deleted
from torch_doctor.fixes.surgery import CLOSED, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

ADDING = {"append": 1, "add_module": 2, "register_module": 2}
"""Methods that add one layer, and how many arguments they take."""


@made.register(edits.Unwrap)
def _unwrap(edit: edits.Unwrap, program: Program) -> Iterator[Piece]:
    call = program.call(edit.site)
    if _is_built(program, call):
        yield _layer_taken_out(program, call)
        return
    kept = _applied_to(program, call)
    start, end = program.outer(kept)
    text = program.between(start, end)
    loose = not isinstance(kept, CLOSED) and not kept.lpar
    inside = isinstance(program.parent(call), cst.Attribute | cst.BinaryOperation | cst.UnaryOperation | cst.Subscript)
    yield program.start(call), program.end(call), f"({text})" if loose and inside else text


def _is_built(program: Program, call: cst.Call) -> bool:
    """Whether a call constructs a layer: of a class that is imported, or that is called by its module."""
    name = (cst.helpers.get_full_name_for_node(call.func) or "").rpartition(".")[2]
    return program.root(call.func) in program.imported and (not call.args or name[:1].isupper())


def _layer_taken_out(program: Program, call: cst.Call) -> Piece:
    """A layer that is constructed as one of several, or for a list of them.

    Raises:
        CannotEditError: it stands elsewhere, or nothing would be left there.
    """
    within = program.parent(call)
    named = program.parent(within) if within is not None else None
    if isinstance(within, cst.Element) and isinstance(named, cst.Tuple) and len(named.elements) == 2:  # noqa: PLR2004
        within = program.parent(named)  # with its name, in an ordered dict
        named = program.parent(within) if within is not None else None
    if isinstance(within, cst.Arg) and isinstance(named, cst.Call):
        name = (cst.helpers.get_full_name_for_node(named.func) or "").rpartition(".")[2]
        statement = program.parent(named)
        if isinstance(statement, cst.Expr) and ADDING.get(name) == len(named.args):
            return deleted(program, statement, leaves_some=True)
        if name == "Sequential" and len(named.args) > 1:
            return _without(program, named, within)
    if isinstance(within, cst.Element) and isinstance(named, cst.List):
        statement = program.parent(named)
        if isinstance(statement, cst.AugAssign) and len(named.elements) == 1:
            return deleted(program, statement, leaves_some=True)
        if len(named.elements) > 1:
            return _without(program, named, within)
    raise CannotEditError


def _without(program: Program, holder: cst.Call | cst.List, one: cst.Arg | cst.BaseElement) -> Piece:
    """One of several arguments or elements taken out: its rows where it has rows of its own, else with a comma beside it."""
    several: list[cst.Arg | cst.BaseElement] = [*(holder.args if isinstance(holder, cst.Call) else holder.elements)]
    number = several.index(one)
    start, end = program.start(one), program.outer(one.value)[1]
    above = program.outer(several[number - 1].value)[1] if number else program.start(holder)
    below = program.start(several[number + 1]) if one is not several[-1] else program.end(holder)
    if above[0] < start[0] and end[0] < below[0]:
        return (start[0], 0), (end[0] + 1, 0), ""
    return (start, below, "") if one is not several[-1] else (above, end, "")


def _applied_to(program: Program, call: cst.Call) -> cst.BaseExpression:
    """The argument of a function or a layer, or the tensor whose method is called."""
    func = call.func
    settings = all(
        arg.keyword is not None or isinstance(arg.value, cst.Integer | cst.UnaryOperation) for arg in call.args
    )
    root = program.root(func)
    if isinstance(func, cst.Attribute) and settings and root not in program.imported:
        return func.value
    first = next((arg for arg in call.args if arg.keyword is None or arg.keyword.value == "input"), None)
    if first is None or first.star:
        raise CannotEditError
    layer = isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == "self"
    if root in program.imported or isinstance(func, cst.Name) or (layer and len(call.args) == 1):
        return first.value
    raise CannotEditError
