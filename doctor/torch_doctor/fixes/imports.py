"""Imports that a fix leaves without use."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.edits import Change
from torch_doctor.fixes.program import CannotEditError, Program, bound_by
from torch_doctor.sources.python import decode
from torch_doctor.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import libcst as cst

    from torch_doctor.fixes.program import Piece


def without_use(program: Program, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The imports of names that stand nowhere but in what is taken out, taken out as well."""
    gone = Counter[str]()
    for start, end, content in pieces:
        gone.update(program.words(program.between(start, end)))
        gone.subtract(program.words(content))
    yield from _without(program, Counter(program.words(program.source.text)), gone)


def idle_imports(path: Path, name: str, before: bytes, after: bytes) -> list[Change]:
    """Return the changes that remove the imports which several fixes together left unused; none in a notebook."""
    was, _ = decode(before)
    text, failure = decode(after)
    if failure is not None or path.suffix != ".py":
        return []
    try:
        program = Program(SourceFile(path, name, text), lambda _: program)
    except CannotEditError:
        return []
    words = Counter(program.words(text))
    gone = Counter(program.words(was)) - words
    pieces = dict.fromkeys(_without(program, words, gone, taken=False))
    return [Change(program.site(start, end), content) for start, end, content in pieces]


def _without(program: Program, words: Counter[str], gone: Counter[str], *, taken: bool = True) -> Iterator[Piece]:
    """Remove the imports of names of which `gone` are no longer in the text; `taken`: `words` counts these as well."""
    for line in program.imports if program.source.cells is None else ():
        row, end_row = program.start(line)[0], program.end(line)[0]
        inside = Counter(program.words(program.between((row, 0), (end_row, len(program.rows[end_row - 1])))))
        bound = [(alias, name) for small in line.body for alias, name, _ in bound_by(small)]
        idle = [alias for alias, name in bound if gone[name] > 0 and words[name] == gone[name] * taken + inside[name]]
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
