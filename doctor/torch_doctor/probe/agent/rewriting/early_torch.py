"""Source of early torch, whose moves took `async=` until Python 3.7 reserved the word: read without that argument."""

from __future__ import annotations

import ast
import re

ASYNC = re.compile(r"(?P<comma>,[ \t]*)?\basync[ \t]*=[ \t]*[\w.]+(?P<after>[ \t]*,)?")


def parsed(text: str, path: str) -> tuple[ast.Module, str]:
    """The tree of a file and the text that it is of, which may lack `async=`, and has every row and column in its place.

    Raises:
        SyntaxError, ValueError: the source is not valid Python all the same.
    """
    try:
        return ast.parse(text, path), text
    except SyntaxError:
        plain = ASYNC.sub(_blanked, text)
        if plain == text:
            raise
        return ast.parse(plain, path), plain


def _blanked(found: re.Match[str]) -> str:
    """As many spaces; one comma stays where there are two."""
    both = found["comma"] and found["after"]
    return "," + " " * (len(found[0]) - 1) if both else " " * len(found[0])
