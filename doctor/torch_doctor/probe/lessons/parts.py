"""Rows that are taken apart into more than they have: the fields of a line, the columns of a table."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, parsed

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

UNPACKED = re.compile(r"values to unpack \(expected (\d+)")
MOST = 64


def read(failure: Failure) -> Lesson | None:
    """How many parts a row has to have, by what the code unpacks or by the place that it reads."""
    count = _count(failure)
    if not 1 < count <= MOST:
        return None
    for stand_in in failure.guessed():
        if stand_in.how.endswith("lines of synthetic text") and not failure.knows("fields", stand_in.what):
            return Lesson("fields", stand_in.what, count, f"the lines of `{stand_in.what}` have {count} fields")
        if "synthetic rows" in stand_in.how and not failure.knows("columns", stand_in.what):
            names = [f"feature {number}" for number in range(count)]
            return Lesson("columns", stand_in.what, names, f"`{stand_in.what}` has {count} columns more")
    return None


def _count(failure: Failure) -> int:
    found = UNPACKED.search(failure.words)
    if found is not None and failure.is_a("ValueError"):
        return int(found[1])
    if not failure.is_a("IndexError") or "index out of range" not in failure.words:
        return 0
    places = [
        node.slice.value
        for node in ast.walk(parsed(failure.line) or ast.Pass())
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is int
    ]
    return max((place + 1 for place in places), default=0)
