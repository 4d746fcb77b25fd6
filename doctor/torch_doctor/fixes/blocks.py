"""Statements as blocks: where they lie, what they bind, and how they come under a `with`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import coded, made

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.fixes.program import Piece, Program
    from torch_doctor.trace import Site

STRINGS = (cst.SimpleString, cst.FormattedString)
Block: TypeAlias = cst.SimpleStatementLine | cst.BaseCompoundStatement


@made.register(edits.Within)
def _within(edit: edits.Within, program: Program) -> Iterator[Piece]:
    found = holding(program, edit.site)
    if (edit.unless and edit.unless in program.words(program.code(found))) or holds(program, found, edit.apart):
        raise CannotEditError
    function = function_of(program, found)
    if function is not None and function.asynchronous is not None:
        raise CannotEditError  # what else runs meanwhile would be in the block, too
    code, imports = coded(program, edit.code)
    yield from imports
    row, end_row = program.start(found)[0], program.end(found)[0]
    indent = program.indent(row)
    if isinstance(found, cst.FunctionDef):
        if not imports and not _is_imported_above(program, code.partition(".")[0], row):
            raise CannotEditError
        yield (row, 0), (row, 0), f"{indent}@{code}\n"
        return
    if any(isinstance(node, cst.Yield) for node in inside(found)):
        raise CannotEditError  # who takes what is yielded would be in the block, too
    if edit.condition and not (
        isinstance(found, cst.SimpleStatementLine)
        and all(isinstance(each, cst.Expr) and isinstance(each.value, cst.Call) for each in found.body)
    ):
        raise CannotEditError
    yield (row, 0), (row, 0), f"{indent}{'if' if edit.condition else 'with'} {code}:\n{program.tree.default_indent}"
    texts = [node for node in inside(found) if isinstance(node, STRINGS)]
    within = {each for text in texts for each in range(program.start(text)[0] + 1, program.end(text)[0] + 1)}
    for each in range(row + 1, end_row + 1):
        if each not in within and program.rows[each - 1].strip():
            yield (each, 0), (each, 0), program.tree.default_indent


def _is_imported_above(program: Program, name: str, row: int) -> bool:
    """Whether a name is there when a row is executed: a decorator needs it at once."""
    lines = (each for each in program.tree.body if isinstance(each, cst.SimpleStatementLine))
    return any(
        isinstance(small, cst.Import | cst.ImportFrom) and name in program.words(program.code(small))
        for line in lines
        if program.start(line)[0] < row
        for small in line.body
    )


def holding(program: Program, site: Site) -> Block:
    """The innermost statement that holds a site, with rows of its own.

    Raises:
        CannotEditError: there is none, or it shares its row with the condition or the loop that it belongs to.
    """
    found = [node for node in program.nodes() if isinstance(node, Block) and holds(program, node, [site])]
    if not found:
        raise CannotEditError
    inmost = max(found, key=program.start)
    if not isinstance(program.parent(inmost), cst.IndentedBlock | cst.Module):
        raise CannotEditError
    return inmost


def holds(program: Program, node: cst.CSTNode, sites: Iterable[Site]) -> bool:
    """Whether one of the sites begins within a node."""
    start, end = program.start(node), program.end(node)
    laid = (program.source.laid(site) for site in sites if site.path == program.source.display)
    return any(start <= (each.row, each.column - 1) < end for each in laid)


def inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and what it is made of, without what is inside of the functions that it defines."""
    yield node
    for child in node.children:
        if not isinstance(child, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            yield from inside(child)


def binds(program: Program, node: cst.CSTNode, name: str) -> bool:
    """Whether a statement gives a name, or what it begins with, another value."""
    root = name.partition(".")[0].partition("[")[0]
    for each in inside(node):
        target = each.name if isinstance(each, cst.AsName) else getattr(each, "target", None)
        if isinstance(each, cst.AssignTarget | cst.AnnAssign | cst.For | cst.AsName | cst.NamedExpr) and target:
            names = [part.value for part in inside(target) if isinstance(part, cst.Name)]
            plain = [program.code(part) for part in inside(target) if isinstance(part, cst.Attribute)]
            if any(part == name for part in plain) or (not plain and root in names):
                return True
    return False


def function_of(program: Program, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The function that a node stands in, or is; None at the top level."""
    return next((each for each in program.around(node) if isinstance(each, cst.FunctionDef)), None)


def is_one(program: Program, name: cst.Name | cst.Attribute, one: cst.CSTNode, two: cst.CSTNode) -> bool:
    """Whether a name means one thing at two places: both are in one function, or it is an attribute in one class."""
    first, second = (function_of(program, node) for node in (one, two))
    if first is second:
        return True
    classes = [
        next((each for each in program.around(node) if isinstance(each, cst.ClassDef)), None) for node in (one, two)
    ]
    return program.root(name) == "self" and isinstance(name, cst.Attribute) and classes[0] is classes[1] is not None
