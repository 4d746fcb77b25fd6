"""`from __future__ import` in a cell of a notebook: it holds for the cells from there on, whichever cell it is in."""

from __future__ import annotations
import __future__

import ast


def without_futures(text: str) -> tuple[str, int]:
    """The text of all cells without these statements, everything else at its place, and the flags that stand for them.

    Raises:
        SyntaxError, ValueError: the text is not valid Python.
    """
    lines, flags = text.split("\n"), 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for each in node.names:
                flags |= getattr(getattr(__future__, each.name, None), "compiler_flag", 0)
            first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
            for row in range(first, last + 1):
                line = lines[row].encode()
                start = node.col_offset if row == first else 0
                end = (node.end_col_offset or 0) if row == last else len(line)
                instead = b"None" if row == first else b""  # a statement: others may follow on the row
                lines[row] = (line[:start] + instead.ljust(end - start) + line[end:]).decode()
    return "\n".join(lines), flags
