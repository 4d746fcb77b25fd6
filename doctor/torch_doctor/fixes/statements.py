"""Edits of whole statements: put in, moved, taken out."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

import libcst as cst

from torch_doctor import edits
from torch_doctor.fixes.naming import QUALIFIED
from torch_doctor.fixes.program import CannotEditError
from torch_doctor.fixes.surgery import coded, made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Place, Program


@made.register(edits.Insert)
def _insert(edit: edits.Insert, program: Program) -> Iterator[Piece]:
    found = program.compound(edit.site) if edit.first else program.statement(edit.site)
    if edit.unless and edit.unless in program.words(program.code(found)):
        raise CannotEditError
    code, imports = coded(program, edit.code)
    _are_known(program, QUALIFIED.sub("None", edit.code), found)
    yield from imports
    if edit.first:
        yield beginning(program, found, code)
        return
    line = found if isinstance(found, cst.BaseCompoundStatement) else program.parent(found)
    alone = len(line.body) == 1 if isinstance(line, cst.SimpleStatementLine) else line is found
    if line is None:
        raise CannotEditError
    if not alone and "\n" in code:
        raise CannotEditError
    if not alone:
        place = program.end(found) if edit.after else program.start(found)
        yield (place, place, f"; {code}" if edit.after else f"{code}; ")
        return
    row = program.end(line)[0] + 1 if edit.after else first_row(program, line)
    indent = program.indent(program.start(line)[0])
    yield rows_at(program, row, [indent + each for each in code.split("\n")], behind=edit.after)


@made.register(edits.Top)
def _top(edit: edits.Top, program: Program) -> Iterator[Piece]:
    code, imports = coded(program, edit.code)
    yield from imports
    last = program.source.laid(edit.before).row if edit.before.path == edit.site.path else len(program.rows)
    body = [each for each in program.tree.body if program.start(each)[0] <= last]
    after = max((number for number, each in enumerate(body) if _is_import(each)), default=-1)
    doing = (each for each in body[after + 1 :] if not isinstance(each, cst.FunctionDef | cst.ClassDef))
    first = next((each for each in doing if not _is_docstring(each)), None)
    if first is None:
        raise CannotEditError
    yield rows_at(program, program.start(first)[0], [code])


def _is_import(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and any(
        isinstance(small, cst.Import | cst.ImportFrom) for small in line.body
    )


def deleted(program: Program, small: cst.BaseSmallStatement, *, leaves_some: bool = False) -> Piece:
    """A statement taken out; `leaves_some`: only where others stay in its block.

    Raises:
        CannotEditError: it shares its row, or the last one of a file or cell.
    """
    line = program.parent(small)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        raise CannotEditError
    block = program.parent(line)
    row, end_row = program.start(line)[0], program.end(line)[0]
    if isinstance(block, cst.IndentedBlock) and len(block.body) == 1:
        if leaves_some:
            raise CannotEditError
        return program.start(small), program.end(small), "pass"
    if end_row == len(program.rows) or program.source.cells is not None:
        raise CannotEditError
    apart = (row == 1 or not program.rows[row - 2].strip()) and not program.rows[end_row].strip()
    return (row, 0), (end_row + 1 + apart, 0), ""


def first_row(program: Program, line: cst.CSTNode) -> int:
    """The row of a statement's first character, those of its decorators included."""
    if isinstance(line, cst.FunctionDef | cst.ClassDef) and line.decorators:
        return program.start(line.decorators[0])[0]
    return program.start(line)[0]


def first_in(program: Program, body: cst.IndentedBlock) -> int:
    """The row of the first statement of a block that is no docstring."""
    first = next((each for each in body.body if not _is_docstring(each)), None)
    if first is None:
        raise CannotEditError
    return first_row(program, first)


def rows_at(program: Program, row: int, rows: list[str], *, behind: bool = False) -> Piece:
    """Rows in front of a row; `behind`: behind the row above, which may be the last one of a file or of a cell."""
    if row > len(program.rows) or any(behind and cell.first_row == row > 1 for cell in program.source.cells or ()):
        end: Place = (row - 1, len(program.rows[row - 2]))
        return end, end, "".join(f"\n{each}" for each in rows)
    return (row, 0), (row, 0), "".join(f"{each}\n" for each in rows)


def beginning(program: Program, block: cst.CSTNode, code: str) -> Piece:
    """Code as the first statement of the block of a loop, a function or a condition, below its docstring.

    Raises:
        CannotEditError: it has no such block.
    """
    body = getattr(block, "body", None)
    if isinstance(body, cst.SimpleStatementSuite):
        place = program.start(body)
        return place, place, f"{code}; "
    if not isinstance(body, cst.IndentedBlock):
        raise CannotEditError
    first, *others = body.body
    indent = program.indent(program.start(first)[0])
    if not _is_docstring(first):
        return rows_at(program, first_row(program, first), [indent + code])
    if others:
        return rows_at(program, first_row(program, others[0]), [indent + code])
    return rows_at(program, program.end(first)[0] + 1, [indent + code], behind=True)


def _is_docstring(line: cst.CSTNode) -> bool:
    return (
        isinstance(line, cst.SimpleStatementLine)
        and isinstance(line.body[0], cst.Expr)
        and isinstance(line.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )


def _are_known(program: Program, code: str, place: cst.CSTNode) -> None:
    """Check that each name in the code is known at the place: in its function, or at the top level.

    Raises:
        CannotEditError: a name means nothing there.
    """
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    names -= {*dir(builtins), *program.imported}
    functions = [node for node in program.around(place) if isinstance(node, cst.FunctionDef)]
    text = "\n".join(map(program.code, functions)) if functions else program.source.text
    if not names <= set(program.words(text)) | program.top_level:
        raise CannotEditError
