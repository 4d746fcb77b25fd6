"""Names for findings that stay when lines move, and that keep nothing of the source."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFINITION = re.compile(r"(?:async\s+def|def|class)\s+(\w+)")
DIGITS = 12


def fingerprint(rows: Sequence[str], row: int, columns: tuple[int, int], *told: str) -> str:
    """A name for the stretch from one column to another of a row, both counted from 1.

    It is made of the line's text without its blanks, the functions and classes around it, and what else is told: the
    repository, the file and the code. The number at its end counts the same line in the same function.
    """
    line = rows[row - 1] if row <= len(rows) else ""
    around = enclosing(rows, row)
    text = _squeezed(line)
    before = (above for above in range(1, min(row, len(rows) + 1)) if _squeezed(rows[above - 1]) == text)
    occurrence = 1 + sum(enclosing(rows, above) == around for above in before)
    start, end = columns[0] - 1, columns[1] - 1
    parts = (*told, around, _squeezed(line[:start]), _squeezed(line[start:end]), _squeezed(line[end:]))
    return f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:DIGITS]}-{occurrence}"


def enclosing(rows: Sequence[str], row: int) -> str:
    """The names of the functions and classes around a row, from the outside, as indentation tells them.

    Indentation tells it of source that no parser of today reads, too.
    """
    names: list[str] = []
    if row > len(rows):
        return ""
    indent = _indent(rows[row - 1])
    for above in reversed(rows[: row - 1]):
        if not indent:
            break
        stripped = above.strip()
        if stripped and not stripped.startswith("#") and _indent(above) < indent:
            indent = _indent(above)
            if found := DEFINITION.match(stripped):
                names.append(found[1])
    return ".".join(reversed(names))


def _indent(line: str) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())


def _squeezed(text: str) -> str:
    return "".join(text.split())
