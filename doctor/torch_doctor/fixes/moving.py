"""Statements that are put elsewhere, in their block or out of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.blocks import STRINGS, binds, inside
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.statements import first_row, rows_at
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program

PURE = (
    cst.Name,
    cst.Attribute,
    cst.Comparison,
    cst.BooleanOperation,
    cst.UnaryOperation,
    cst.Integer,
    cst.SimpleString,
)


class Way(NamedTuple):
    """Where a statement goes: beside `place`, together with the conditions that it stands under.

    `passed` is what it passes by, or leaves, or enters.
    """

    taken: cst.CSTNode
    tests: tuple[cst.If, ...]
    place: cst.CSTNode
    passed: tuple[cst.CSTNode, ...]


@made.register(edits.Move)
def _move(edit: edits.Move, program: Program) -> Iterator[Piece]:
    line, other = (program.parent(program.small(site)) for site in (edit.site, edit.to))
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(other, cst.SimpleStatementLine) or line is other:
        raise CannotEditError
    if len(line.body) > 1:
        raise CannotEditError
    way = _way(program, line, other, close=edit.close)
    _may_pass(program, way, "" if edit.called is None else edit.called[0])
    if edit.after and _leaves(way.place):
        raise CannotEditError  # it would not always be reached
    yield _taken_out(program, way.taken)
    row = program.end(way.place)[0] + 1 if edit.after else first_row(program, way.place)
    rows = _rows(program, way, program.indent(program.start(way.place)[0]))
    if edit.called is not None:
        before, now = edit.called
        rows = [re.sub(rf"(?<![\w.]){re.escape(before)}(?!\w)", lambda _: now, each) for each in rows]
    yield rows_at(program, row, rows, behind=edit.after)


def _way(program: Program, line: cst.CSTNode, other: cst.CSTNode, *, close: bool) -> Way:
    """How a statement comes from its block into the one of another.

    Raises:
        CannotEditError: they are in different functions, or it would leave or enter something that it cannot.
    """
    around, beside = _statements(program, line), _statements(program, other)
    blocks = [program.parent(each) for each in beside]
    depth = next((number for number, each in enumerate(around) if program.parent(each) in blocks), None)
    if depth is None:
        raise CannotEditError
    left, deep = around[1 : depth + 1], blocks.index(program.parent(around[depth]))
    if not all(_may_leave(program, each, line) for each in left):
        raise CannotEditError
    if close and not all(_may_enter(program, each, other) for each in beside[1 : deep + 1]):
        raise CannotEditError
    taken, tests = line, [each for each in left if isinstance(each, cst.If)]
    for each in left:
        if not isinstance(each, cst.If) or len(each.body.body) > 1 or each.orelse is not None:
            break
        taken = each
        tests.remove(each)
    if left and _is_alone(program, taken):
        raise CannotEditError  # nothing would be left of the block
    block = program.parent(around[depth])
    body = list(block.body) if isinstance(block, cst.IndentedBlock | cst.Module) else []
    first, last = sorted((body.index(around[depth]), body.index(beside[deep])))  # type: ignore[arg-type]  # statements
    passed = tuple(each for each in body[first : last + 1] if each is not taken)
    return Way(taken, tuple(reversed(tests)), other if close else beside[deep], passed)


def _may_leave(program: Program, node: cst.CSTNode, line: cst.CSTNode) -> bool:
    """Whether a statement can stand behind a loop or a block that it is in, or under a condition of its own there."""
    if not _is_in_body(program, node, line):
        return False
    return not isinstance(node, cst.If) or all(isinstance(each, PURE) for each in _expressions(node.test))


def _may_enter(program: Program, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether a statement can go into a block, because what it belongs to is there and nowhere else."""
    if isinstance(node, cst.For | cst.While):
        return False
    return _is_in_body(program, node, other) and getattr(node, "orelse", None) is None


def _is_in_body(program: Program, node: cst.CSTNode, line: cst.CSTNode) -> bool:
    """Whether a statement is in the first block of a loop, a `with` or a condition."""
    if not isinstance(node, cst.For | cst.While | cst.With | cst.If) or isinstance(program.parent(node), cst.If):
        return False
    return node.body in set(program.around(line))


def _statements(program: Program, node: cst.CSTNode) -> list[cst.CSTNode]:
    """A statement and those around it in its function, from the inside."""
    found: list[cst.CSTNode] = []
    for each in program.around(node):
        if isinstance(each, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            break
        if isinstance(each, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            found.append(each)
    return found


def _expressions(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.BaseExpression):
        yield node
    for child in node.children:
        yield from _expressions(child)


def _is_alone(program: Program, node: cst.CSTNode) -> bool:
    """Whether a block has nothing but a statement."""
    block = program.parent(node)
    return not isinstance(block, cst.IndentedBlock | cst.Module) or len(block.body) == 1


def _leaves(place: cst.CSTNode, *, loop: bool = False) -> bool:
    """Whether what is in a statement may leave the block around it."""
    if isinstance(place, cst.Return | cst.Raise) or (isinstance(place, cst.Break | cst.Continue) and not loop):
        return True
    if isinstance(place, cst.FunctionDef | cst.ClassDef | cst.Lambda):
        return False
    loop = loop or isinstance(place, cst.For | cst.While)
    return any(_leaves(child, loop=loop) for child in place.children)


def _may_pass(program: Program, way: Way, called: str) -> None:
    """Check that what a statement passes by, the one where it goes included, binds nothing that it uses.

    Raises:
        CannotEditError: something does.
    """
    root = called.partition(".")[0]
    used = _used(program, way.taken).union(*(_used(program, each.test) for each in way.tests))
    names = [name for name in used if not root or name.partition(".")[0] != root]
    if any(binds(program, each, name) for each in way.passed for name in names):
        raise CannotEditError


def _used(program: Program, node: cst.CSTNode) -> set[str]:
    """The names and dotted names in a statement or an expression."""
    plain = {each.value for each in inside(node) if isinstance(each, cst.Name)}
    return plain | {program.code(each) for each in inside(node) if isinstance(each, cst.Attribute)}


def _taken_out(program: Program, taken: cst.CSTNode) -> Piece:
    end_row = program.end(taken)[0]
    if end_row == len(program.rows) and program.rows[-1]:
        raise CannotEditError  # the last row has no end that could be moved with it
    return (program.start(taken)[0], 0), (end_row + 1, 0), ""


def _rows(program: Program, way: Way, indent: str) -> list[str]:
    """The rows of a statement with its conditions, as they stand where it goes."""
    start, end = program.start(way.taken)[0], program.end(way.taken)[0]
    texts = [node for node in inside(way.taken) if isinstance(node, STRINGS)]
    if any(program.start(text)[0] != program.end(text)[0] for text in texts):
        raise CannotEditError
    before, step = program.indent(start), program.tree.default_indent
    rows = [f"{indent}{step * number}if {program.code(each.test)}:" for number, each in enumerate(way.tests)]
    now = indent + step * len(way.tests)
    for row in program.rows[start - 1 : end]:
        if row.strip() and not row.startswith(before):
            raise CannotEditError
        rows.append(now + row[len(before) :] if row.strip() else row)
    return rows
