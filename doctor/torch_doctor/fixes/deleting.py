"""Statements taken out, and `with` blocks of which only what is in them is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import STRINGS, function_of, holds, inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.statements import deleted
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.fixes.program import Piece, Program


@made.register(edits.Delete)
def _delete(edit: edits.Delete, program: Program) -> Iterator[Piece]:
    statement = program.statement(edit.site)
    if isinstance(statement, cst.BaseSmallStatement):
        yield deleted(program, statement)
        return
    items = statement.items if isinstance(statement, cst.With) and statement.asynchronous is None else ()
    item = next((each for each in items if holds(program, each, [edit.site])), None)
    if not isinstance(statement, cst.With) or item is None or not isinstance(statement.body, cst.IndentedBlock):
        raise CannotEditError
    gone = list(_uses(program, statement, item))
    yield from (deleted(program, small, leaves_some=True) for small in gone)
    if len(items) > 1:
        yield _without(program, statement, item)
    else:
        yield from _dissolved(program, statement, statement.body, gone)


def _uses(program: Program, block: cst.With, item: cst.WithItem) -> Iterator[cst.BaseSmallStatement]:
    """The statements that do nothing but use the name that a `with` gives what it is over.

    Raises:
        CannotEditError: the name is used otherwise.
    """
    name = None if item.asname is None else item.asname.name
    if name is None:
        return
    if not isinstance(name, cst.Name):
        raise CannotEditError
    scope = function_of(program, block) or program.tree
    named = (node for node in program.nodes() if isinstance(node, cst.Name) and node.value == name.value)
    for node in named:
        if node is name:
            continue
        statement = next((each for each in program.around(node) if isinstance(each, cst.BaseSmallStatement)), None)
        if not isinstance(statement, cst.Expr) or statement not in set(inside(scope)):
            raise CannotEditError
        yield statement


def _without(program: Program, block: cst.With, item: cst.WithItem) -> Piece:
    """One of several that a `with` is over, taken out."""
    number = list(block.items).index(item)
    if number:
        before = block.items[number - 1]
        ended = before.asname.name if before.asname is not None else before.item
        last = item.asname.name if item.asname is not None else item.item
        return program.end(ended), program.end(last), ""
    return program.start(item.item), program.start(block.items[1].item), ""


def _dissolved(
    program: Program, block: cst.With, body: cst.IndentedBlock, gone: Iterable[cst.CSTNode]
) -> Iterator[Piece]:
    """What is in a block, in the place of the block."""
    lines = [each for each in body.body if not (isinstance(each, cst.SimpleStatementLine) and each.body[0] in gone)]
    if not lines:
        raise CannotEditError
    first = body.body[0]
    begins = program.start(first)[0] - len(getattr(first, "leading_lines", ()))
    row, indent = program.start(block)[0], program.indent(program.start(block)[0])
    yield (row, 0), (begins, 0), ""
    less = len(program.indent(program.start(first)[0])) - len(indent)
    texts = [node for each in lines for node in inside(each) if isinstance(node, STRINGS)]
    within = {each for text in texts for each in range(program.start(text)[0] + 1, program.end(text)[0] + 1)}
    within |= {each for node in gone for each in range(program.start(node)[0], program.end(node)[0] + 1)}
    for each in range(begins, program.end(body.body[-1])[0] + 1):
        if each not in within and program.rows[each - 1].strip():
            if len(program.indent(each)) < len(indent) + less:
                raise CannotEditError
            yield (each, len(indent)), (each, len(indent) + less), ""
