"""Columns of made-up tables that hold something else than their names say: texts, numbers or dates."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.probe.lessons.lesson import Failure

NUMBER = r"'(?:float|int|numpy\.\w+|float64|int64)'"
OF_TEXTS = (
    "lower|upper|strip|lstrip|rstrip|split|splitlines|encode|replace|translate|startswith|endswith|title|isalpha|find"
)
TEXTS = re.compile(
    rf"dtype 'str' with dtype|with dtype 'str'|can only concatenate str|expected string or bytes-like|expected str"
    rf"|{NUMBER} object has no attribute '(?:{OF_TEXTS})'|Can only use \.str accessor|must be str\b|TextInputSequence"
    rf"|argument of type {NUMBER} is not|object of type {NUMBER} has no len|{NUMBER} object is not (?:iterable|subscriptable)"
    rf"|(?:text|input) (?:input )?must be of type `?str|sequence item \d+: expected str"
)
NUMBERS = re.compile(
    r"could not convert string|can't convert np\.ndarray of type numpy\.(?:object_|str_)|must be real number, not str"
    r"|unsupported operand type\(s\) for [-*/]=?: 'str'|can't multiply sequence by non-int|invalid literal for int"
    r"|dtype 'str' does not support|operation '(?:sub|mul|truediv)' not supported for dtype 'str'|Cannot perform reduction"
)
DATES = re.compile(r"[Uu]nknown (?:datetime )?string format|time data .* match format|Can only use \.dt accessor")
WANTED = (("text", TEXTS), ("number", NUMBERS), ("date", DATES))
"""What the words of an error say is wanted."""
FORMAT = re.compile(r"match format ['\"]([^'\"]+)['\"]")
IN_WORDS = {"text": "texts", "number": "numbers", "date": "dates"}
TABLE = "synthetic rows"


def read(failure: Failure) -> Lesson | None:
    """The columns that the line names that failed, or else the first of those behind it that names any."""
    kind = next((kind for kind, pattern in WANTED if pattern.search(failure.words)), "")
    table = next((each for each in failure.guessed() if TABLE in each.how), None)
    if not kind or table is None:
        return None
    found = FORMAT.search(failure.words)
    value = f"{kind} {found[1]}" if found is not None and kind == "date" else kind
    known = {name: form for each in failure.lessons if each.kind == "kinds" for name, form in each.value.items()}
    for line in failure.feeding():
        names = [name for name in dict.fromkeys(_named(line, table.how)) if known.get(name) != value]
        if names:
            shown = ", ".join(map(repr, names[:6]))
            words = f"{shown} of `{table.what}` hold{'s' * (len(names) == 1)} {IN_WORDS[kind]}"
            return Lesson("kinds", table.what, {**known, **dict.fromkeys(names, value)}, words)
    return None


def _named(line: str, how: str) -> Iterator[str]:
    """The columns that a line reads: `df["a"]`, `row["a"]`, and `df.a` of those that the table is said to have."""
    said = set(re.split(r", |[()…]", how))
    for node in ast.walk(parsed(line) or parsed(line.rstrip(":")) or ast.Pass()):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            for part in ast.walk(node.slice):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value
        elif isinstance(node, ast.Attribute) and node.attr in said:
            yield node.attr
