"""Notebooks: their code cells as one text, each checked on its own."""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import TYPE_CHECKING, Any

from torch_doctor.pattern import pattern
from torch_doctor.sources.cells import blank_magics, is_foreign, leading_indent
from torch_doctor.sources.older_grammar import in_newer_grammar
from torch_doctor.sources.python import Failure, Unsupported, decode, parse
from torch_doctor.sources.source import NEWLINE, Cell, Problem, SourceFile
from torch_doctor.trace.site import Site

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = pattern(r"i?python\d?$", re.IGNORECASE)
CURRENT_MAJOR = 4


class BrokenNotebookError(ValueError):
    """The file is no notebook; the message says why, `row` and `column` where, from 1, in code points."""

    def __init__(self, reason: str, row: int = 1, column: int = 1) -> None:
        super().__init__(reason)
        self.row, self.column = row, column


def read_notebook(path: Path, display: str, raw: bytes) -> tuple[SourceFile, list[Problem]]:
    """The notebook's Python, and the cells of it that are not valid.

    Raises:
        BrokenNotebookError: it is not JSON, or not a notebook.
    """
    content = _content(raw)
    texts: list[str] = []
    originals: list[str] = []
    cells: list[Cell] = []
    problems: list[Problem] = []
    row = 1
    for number, source in _code_cells(content):
        lines = NEWLINE.split(source)
        indent = leading_indent(lines)
        text, problem = _readable(source, [line.removeprefix(indent) for line in lines])
        if isinstance(problem, Failure):
            column, end_column = problem.column + len(indent), problem.end_column + len(indent)
            site = Site(display, problem.row, column, problem.end_row, end_column, number)
            problems.append(Problem(site, problem.reason, older=text is not None))
        elif problem is not None:
            problems.append(Problem(Site(display, 1, 1, 1, 1, number), problem.reason, wrong=False))
        older = text is not None and problem is not None
        cells.append(Cell(number, row, len(lines), blanked=text is None, indent=len(indent), older=older))
        texts.append("\n" * (len(lines) - 1) if text is None else text)
        originals.append("\n".join(lines))
        row += len(lines)
    return SourceFile(path, display, "\n".join(texts), tuple(cells), "\n".join(originals)), problems


def code_of(raw: bytes) -> bytes:
    """The text of a notebook's code, without the prose and the outputs beside it; all of what is no notebook."""
    try:
        return "\n".join(source for _, source in _code_cells(_content(raw))).encode(errors="replace")
    except BrokenNotebookError:
        return raw


def _readable(source: str, lines: list[str]) -> tuple[str | None, Failure | Unsupported | None]:
    """The cell as plain Python, and what is wrong with it; None where it cannot be read at all."""
    if is_foreign(source):
        return None, None
    text = "\n".join(blank_magics(lines))
    parsed = parse(text)
    if isinstance(parsed, Failure):
        # Only where it is no Python does IPython take `pip install torch` for a magic.
        text = "\n".join(blank_magics(lines, automatic=True))
        parsed = parse(text)
    if isinstance(parsed, Failure):
        return in_newer_grammar(text, parsed.row), parsed
    return (text, None) if isinstance(parsed, ast.Module) else (None, parsed)


def _content(raw: bytes) -> dict[str, Any]:
    """The notebook in format 4; nbformat is asked only to bring older ones up to it."""
    text, failure = decode(raw, "utf-8")
    if failure is not None:
        raise BrokenNotebookError(failure.reason, failure.row, failure.column)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        before = NEWLINE.split(text[: error.pos])  # as editors count lines: JSON's own count leaves out a lone \r
        raise BrokenNotebookError(message, len(before), len(before[-1]) + 1) from None
    except ValueError as error:  # a number with too many digits
        message = "not readable JSON"
        raise BrokenNotebookError(message) from error
    except RecursionError:
        message = "JSON nested too deeply"
        raise BrokenNotebookError(message) from None
    if isinstance(content, dict) and content.get("nbformat") == CURRENT_MAJOR and "cells" in content:
        return content
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import nbformat  # noqa: PLC0415 - slow to import, and needed for old notebooks only

            old = nbformat.reader.reads(json.dumps(content))  # type: ignore[no-untyped-call]
            return dict(nbformat.convert(old, CURRENT_MAJOR))  # type: ignore[no-untyped-call]
    except Exception as error:
        message = "not a notebook"
        raise BrokenNotebookError(message) from error


def _code_cells(content: dict[str, Any]) -> list[tuple[int, str]]:
    """Each code cell with its number among all cells; none where the notebook is in another language."""
    metadata = content.get("metadata") or {}
    cells = content["cells"]
    try:
        language = (metadata.get("language_info") or {}).get("name") or (metadata.get("kernelspec") or {}).get(
            "language"
        )
        if isinstance(language, str) and not PYTHON.match(language):
            return []
        return [
            (number, source if isinstance(source := cell.get("source", ""), str) else "".join(source))
            for number, cell in enumerate(cells, start=1)
            if cell.get("cell_type") == "code"
        ]
    except (AttributeError, TypeError) as error:
        message = "not a notebook"
        raise BrokenNotebookError(message) from error
