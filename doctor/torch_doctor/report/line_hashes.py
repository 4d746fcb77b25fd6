"""Hashes of lines as GitHub's code scanning computes them, to recognise an alert after its line has moved."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WINDOW = 100
"""UTF-16 code units that the hash of a line covers, from the start of the line."""
FACTOR = 37
BITS = 64
END_OF_LINE = 10
END_OF_FILE = 0xFFFF
WITHOUT_BLANKS = str.maketrans("", "", " \t")


def line_hashes(rows: Sequence[str]) -> list[str]:
    """Return a hash for each row of a file, with its number among equal hashes: `primaryLocationLineHash` in SARIF.

    A hash covers the row and what follows it, without spaces and tabs. It equals the one that `github/codeql-action` adds
    to a report that has none.
    """
    units: list[int] = []
    starts: list[int] = []
    for row in rows:
        starts.append(len(units))
        units += memoryview(row.translate(WITHOUT_BLANKS).encode("utf-16-le", "surrogatepass")).cast("H")
        units.append(END_OF_LINE)
    if units:
        units[-1] = END_OF_FILE  # instead of the end of the last line
    units += [0] * WINDOW
    seen: Counter[int] = Counter()
    hashes = []
    for start in starts:
        value = functools.reduce(lambda total, unit: total * FACTOR + unit, units[start : start + WINDOW], 0) % 2**BITS
        seen[value] += 1
        hashes.append(f"{value:x}:{seen[value]}")
    return hashes
