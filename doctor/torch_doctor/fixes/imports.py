"""Imports that a fix leaves without use."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.fixes.program import bound_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import libcst as cst

    from torch_doctor.fixes.program import Piece, Program


def without_use(program: Program, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The imports of names that stand nowhere but in what is taken out, taken out as well."""
    words, gone = Counter(program.words(program.source.text)), Counter[str]()
    for start, end, content in pieces:
        gone.update(program.words(program.between(start, end)))
        gone.subtract(program.words(content))
    for line in program.imports if program.source.cells is None else ():
        row, end_row = program.start(line)[0], program.end(line)[0]
        inside = Counter(program.words(program.between((row, 0), (end_row, len(program.rows[end_row - 1])))))
        bound = [(alias, name) for small in line.body for alias, name, _ in bound_by(small)]
        idle = [alias for alias, name in bound if gone[name] > 0 and words[name] == gone[name] + inside[name]]
        if idle and len(idle) == len(bound):
            apart = (row == 1 or not program.rows[row - 2].strip()) and not program.rows[end_row].strip()
            yield (row, 0), (end_row + 1 + apart, 0), ""
        elif len(line.body) == 1 and len(idle) == 1:
            yield _taken_out(program, line.body[0], idle[0])


def _taken_out(program: Program, small: cst.BaseSmallStatement, alias: cst.ImportAlias) -> Piece:
    """One of several names, with a comma beside it; its rows where it has rows of its own."""
    names = [each for each, _, _ in bound_by(small)]
    number = names.index(alias)
    start, end = program.start(alias), _end(program, alias)
    above = _end(program, names[number - 1]) if number else program.start(small)
    below = program.start(names[number + 1]) if alias is not names[-1] else program.end(small)
    if above[0] < start[0] and end[0] < below[0]:
        return (start[0], 0), (end[0] + 1, 0), ""
    return (start, below, "") if alias is not names[-1] else (above, end, "")


def _end(program: Program, alias: cst.ImportAlias) -> tuple[int, int]:
    return program.end(alias.name if alias.asname is None else alias.asname.name)
