"""Statements that leave a block, callees that get another name, and states that are taken from their graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import STRINGS, function_of, holding, holds, inside, is_one
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.statements import rows_at
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.fixes.blocks import Block
    from torch_doctor.fixes.program import Piece, Program

TENSORS = frozenset({"zeros", "ones", "randn", "rand", "empty", "full", "zeros_like", "randn_like", "new_zeros"})
"""Functions and methods that surely make a tensor."""


@made.register(edits.Leave)
def _leave(edit: edits.Leave, program: Program) -> Iterator[Piece]:
    statement = holding(program, edit.site)
    block = program.parent(statement)
    around = program.parent(block) if block is not None else None
    if not isinstance(block, cst.IndentedBlock) or not isinstance(around, cst.With) or len(around.items) > 1:
        raise CannotEditError
    item = around.items[0]
    if not holds(program, item, [edit.of]) and "autocast" not in program.code(item):
        raise CannotEditError
    number = block.body.index(statement)
    leaving = block.body[number:]
    called = [node.func for each in leaving for node in inside(each) if isinstance(node, cst.Call)]
    names = {(cst.helpers.get_full_name_for_node(func) or "").rpartition(".")[2] for func in called}
    products = any(isinstance(node, cst.MatrixMultiply) for each in leaving for node in inside(each))
    if not number or products or not names <= set(edit.methods):
        raise CannotEditError
    indent = program.indent(program.start(around)[0])
    texts = [node for each in leaving for node in inside(each) if isinstance(node, STRINGS)]
    within = {row for text in texts for row in range(program.start(text)[0] + 1, program.end(text)[0] + 1)}
    less = len(program.indent(program.start(statement)[0])) - len(indent)
    for row in range(program.start(statement)[0], program.end(leaving[-1])[0] + 1):
        if row not in within and program.rows[row - 1].strip():
            if len(program.indent(row)) < len(indent) + less:
                raise CannotEditError
            yield (row, len(indent)), (row, len(indent) + less), ""


@made.register(edits.Callee)
def _callee(edit: edits.Callee, program: Program) -> Iterator[Piece]:
    call, small = program.call(edit.site), program.small(edit.of)
    if not isinstance(small, cst.Assign) or len(small.targets) > 1 or small.value is not program.call(edit.of):
        raise CannotEditError
    target = small.targets[0].target
    if not isinstance(target, cst.Name | cst.Attribute) or not is_one(program, target, call, small):
        raise CannotEditError
    yield *program.outer(call.func), program.code(target)


@made.register(edits.Detach)
def _detach(edit: edits.Detach, program: Program) -> Iterator[Piece]:
    statement, small, call = holding(program, edit.site), program.small(edit.site), program.call(edit.site)
    if not isinstance(small, cst.Assign) or len(small.targets) > 1 or small.value is not call:
        raise CannotEditError
    target = small.targets[0].target
    given = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
    carried = [one for one in given for arg in call.args if one.deep_equals(arg.value)]
    if len(carried) != 1:
        raise CannotEditError
    name = program.code(carried[0])
    row, indent = program.start(statement)[0], program.indent(program.start(statement)[0])
    if isinstance(carried[0], cst.Tuple):
        parts = [program.code(element.value) for element in carried[0].elements]
        yield rows_at(program, row, [f"{indent}{', '.join(parts)} = {', '.join(f'{part}.detach()' for part in parts)}"])
        return
    if not isinstance(carried[0], cst.Name | cst.Attribute):
        raise CannotEditError
    begun = _begun(program, statement, carried[0], small)
    kinds = {_is_tuple(program, each) for each in begun if not _is_none(each)}
    parts_of = edit.parts if edit.parts is not None else next(iter(kinds), None) if len(kinds) == 1 else None
    if parts_of is None or not begun:
        raise CannotEditError
    code = f"{name} = tuple(part.detach() for part in {name})" if parts_of else f"{name} = {name}.detach()"
    none = any(_is_none(each) for each in begun)
    step = program.tree.default_indent
    yield rows_at(
        program, row, [f"{indent}if {name} is not None:", f"{indent}{step}{code}"] if none else [indent + code]
    )


def _begun(
    program: Program, statement: Block, name: cst.BaseExpression, own: cst.Assign
) -> Sequence[cst.BaseExpression]:
    """What else is assigned to a name in the function of a statement; a parameter may be anything."""
    function = function_of(program, statement)
    nodes = inside(function.body if function is not None else program.tree)
    return [
        node.value
        for node in nodes
        if isinstance(node, cst.Assign) and node is not own and node.targets[0].target.deep_equals(name)
    ]


def _is_none(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Name) and value.value == "None"


def _is_tuple(program: Program, value: cst.BaseExpression) -> bool | None:
    """Whether an expression surely is a tuple, or surely a tensor; None: neither."""
    if isinstance(value, cst.Tuple):
        return True
    func = cst.helpers.get_full_name_for_node(value.func) if isinstance(value, cst.Call) else None
    last = (func or "").rpartition(".")[2]
    if last in TENSORS:
        return False
    made = [node for node in program.nodes() if isinstance(node, cst.FunctionDef) and node.name.value == last]
    returned = [node.value for each in made for node in inside(each.body) if isinstance(node, cst.Return)]
    kinds = {None if each is None or isinstance(each, cst.Name) else _is_tuple(program, each) for each in returned}
    return kinds.pop() if len(kinds) == 1 and len(made) == 1 else None
