"""Edits of comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor import edits
from torch_doctor.fixes.surgery import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.fixes.program import Piece, Program


@made.register(edits.Comment)
def _comment(edit: edits.Comment, program: Program) -> Iterator[Piece]:
    laid = program.source.laid(edit.site)
    row, start, end = laid.row, laid.column - 1, laid.end_column - 1
    line = program.rows[row - 1]
    before, after = line[:start], line[end:]
    if edit.content or after.strip():
        yield (row, start), (row, end), edit.content
    elif before.strip() or row == program.source.row_range(edit.site)[-1]:
        yield (row, len(before.rstrip())), (row, len(line)), ""
    else:
        yield (row, 0), (row + 1, 0), ""
