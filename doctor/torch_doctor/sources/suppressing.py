"""Where the comment goes that silences a finding, and what is left of one that silences nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.sources.python import parse
from torch_doctor.sources.source import SourceFile
from torch_doctor.sources.suppressions import NOQA, OURS, SEPARATOR, suppressions

if TYPE_CHECKING:
    from collections.abc import Collection

    from torch_doctor.rule import Finding
    from torch_doctor.sources.suppressions import Suppression

ABOVE_ALL = ("#!", "# -*-", "# vim:")  # what has to stand in the first two rows


class Insertion(Struct, frozen=True):
    """Text to put into a file before a place: a row of its `text` and a column, from 1 in code points."""

    row: int
    column: int
    content: str


def on_line(finding: Finding, file: SourceFile) -> Insertion | None:
    """The `noqa` comment for one finding, in a comment of that kind if there is one; None where none can be put.

    It goes on the row of the finding, or, where that ends with a backslash or inside a string, on the last row of the
    statement.
    """
    row = file.row_of(finding.site)
    rows = suppressions(SourceFile(file.path, file.display, f"{file.text}  # noqa: X1")).logical_lines.get(
        row, (row, row)
    )
    for candidate in dict.fromkeys((row, rows[1])):
        line = file.lines[candidate - 1]
        places = [
            Insertion(candidate, noqa.end("codes") + 1, f", {finding.code}")
            for noqa in NOQA.finditer(line)
            if noqa["codes"]
        ]
        places.append(Insertion(candidate, len(line.rstrip()) + 1, f"  # noqa: {finding.code}"))
        for insertion in places:
            if _silences(insertion, finding, file):
                return insertion
    return None


def on_file(finding: Finding, file: SourceFile) -> Insertion:
    """The comment that silences the rule of a finding in its whole file: below what has to stand in its first rows."""
    row = 1
    while row <= min(2, len(file.lines)) and file.lines[row - 1].startswith(ABOVE_ALL):
        row += 1
    return Insertion(row, 1, f"# torch-doctor: ignore-file[{finding.name}]\n")


def without(comment: Suppression, names: Collection[str], file: SourceFile) -> tuple[str, str]:
    """The part of a file's comment that changes when it no longer names some selectors, and what is left of that part.

    Nothing is left where it names no others; a reason that follows the names goes with them.
    """
    line = file.lines[comment.row - 1][comment.column - 1 :]
    found = (OURS if comment.ours else NOQA).match(line)
    if found is None:  # it was found there by the same patterns
        return "", ""
    group = "names" if comment.ours else "codes"
    written = found[group] or ""
    kept = [name for name in SEPARATOR.split(written) if name and _spelled(name, comment) not in names]
    if not kept:
        end = line.find("#", found.end())
        return (line.rstrip() if end < 0 else line[:end]), ""
    start, end = found.span(group)
    separator = ", " if "," in written else " "
    return found[0], line[:start] + separator.join(kept) + line[end : found.end()]


def _spelled(name: str, comment: Suppression) -> str:
    """A name as the selectors of a comment spell it."""
    return name if comment.ours else name.upper()


def _silences(insertion: Insertion, finding: Finding, file: SourceFile) -> bool:
    """Whether the file is still valid with the insertion, and the finding silent."""
    lines = list(file.lines)
    line, column = lines[insertion.row - 1], insertion.column - 1
    lines[insertion.row - 1] = line[:column] + insertion.content + line[column:]
    changed = SourceFile(file.path, file.display, "\n".join(lines), file.cells)
    return suppressions(changed).silences(finding, changed) and isinstance(parse(changed.text), ast.Module)
