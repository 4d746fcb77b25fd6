"""Files beside those that were made up: the script asks whether they are there, and gives up where they are not."""

from __future__ import annotations

import ast
import os.path
from pathlib import PurePath
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.probe.lessons.lesson import Failure

ASKING = frozenset({"isfile", "exists"})


def read(failure: Failure) -> Lesson | None:
    """The folder in which files of a suffix have to be."""
    for test in _tests(failure) if failure.guessed() else ():
        for node in ast.walk(test):
            asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKING
            path = failure.terms.get(ast.unparse(node.args[0])) if asks and node.args else None  # type: ignore[attr-defined]
            folder, name = os.path.split(path) if isinstance(path, str) else ("", "")
            suffix = PurePath(name).suffix
            if suffix and not failure.knows("there", folder):
                return Lesson("there", folder, suffix, f"`{folder}` has the files with `{suffix}` that are asked for")
    return None


def _tests(failure: Failure) -> Iterator[ast.expr]:
    """What has to hold where the script gives up."""
    if not failure.end.frames:
        return
    site, statement = failure.end.frames[-1].site, parsed(failure.line)
    if isinstance(statement, ast.Assert):
        yield statement.test
    if not failure.line.startswith("raise"):
        return
    try:
        tree = ast.parse(failure.text(site.path))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and any(each.lineno == site.row for each in node.body):
            yield node.test
