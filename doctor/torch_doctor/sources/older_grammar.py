"""Source of Python 2, and of early torch, as a program that today's Python reads: every row and column stays in place."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.pattern import pattern
from torch_doctor.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Match

LONGEST_SOURCE = 500_000  # characters: each round parses the text once more
MOST_ROUNDS = 60


class Older(Struct, frozen=True):
    """A construct that Python 3 refuses: the pattern that finds it, and what replaces it in as many characters.

    `throughout`: all of them in the file are replaced at once, not only those in the row that the parser refuses.
    """

    found: Callable[[str], bool]
    replaced: Callable[[str], str]
    throughout: bool = False


def _blanked(found: Match[str]) -> str:
    """The match without its group `gone`, which leaves as many spaces."""
    start, end = found.start("gone") - found.start(), found.end("gone") - found.start()
    return found[0][:start] + " " * (end - start) + found[0][end:]


def _comma(found: Match[str]) -> str:
    """The statement `print x` as the tuple `print, x`: what it prints is still evaluated."""
    return found["before"] + "print,"


def _older(text: str, replacement: Callable[[Match[str]], str], *, throughout: bool = False) -> Older:
    compiled = pattern(text)
    return Older(lambda row: compiled.search(row) is not None, lambda row: compiled.sub(replacement, row), throughout)


OLDER = (
    _older(r"""(?P<before>(?:^|[:;])[ \t]*)print[ \t](?=[ \t]*[\w'"~])""", _comma, throughout=True),
    _older(r"\bexcept[ \t]+(?:[\w.]+|\([^()]*\))(?P<gone>[ \t]*,[ \t]*\w+)[ \t]*:", _blanked, throughout=True),
    _older(r"(?P<gone>,[ \t]*async[ \t]*=[ \t]*[\w.]+)", _blanked),
    _older(r"\((?P<gone>[ \t]*async[ \t]*=[ \t]*[\w.]+[ \t]*,?)", _blanked),
    _older(r"\braise[ \t]+[\w.]+(?P<gone>[ \t]*,[^\n#]*)", _blanked),
    _older(r"<>", lambda _: "!="),
    _older(r"\b(?:0[xX][0-9a-fA-F]+|[0-9]+)(?P<gone>[lL])\b", _blanked),
)
"""Statements and tokens of Python 2, and `async=`, which torch had as an argument until Python 3.7 reserved the word."""


def read_as_older(file: SourceFile, row: int) -> tuple[SourceFile, ast.Module] | None:
    """Return a file of Python 2 as today's Python reads it, with its tree; None where that does not help.

    `row` is the row, from 1, that the parser refused.
    """
    text = in_newer_grammar(file.text, row)
    if text is None:
        return None
    return SourceFile(file.path, file.display, text, original=file.text, older=True), ast.parse(text)


def in_newer_grammar(text: str, row: int) -> str | None:
    """The text with what older Pythons had in other words, as long as before in every row; None where that is not the reason.

    `row` is the row, from 1, that the parser refused.
    """
    if len(text) > LONGEST_SOURCE:
        return None
    rows = text.split("\n")
    for _ in range(MOST_ROUNDS):
        if not 1 <= row <= len(rows):
            return None
        older = next((each for each in OLDER if each.found(rows[row - 1])), None)
        if older is None:
            return None
        if older.throughout:
            rows = [older.replaced(each) for each in rows]
        else:
            rows[row - 1] = older.replaced(rows[row - 1])
        text = "\n".join(rows)
        refused = _refused_row(text)
        if refused is None:
            return text
        row = refused
    return None


def _refused_row(text: str) -> int | None:
    """The row that the parser refuses; None where it refuses none, 0 where it does not say."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's escapes and literals
            ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 0
    except (ValueError, RecursionError, MemoryError):
        return 0
    return None
