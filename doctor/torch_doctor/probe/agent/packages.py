"""A script that is part of a package: it is run as `python -m package.script` where it imports from beside itself."""

from __future__ import annotations

import ast
import os


def package_of(script: str) -> tuple[str, str]:
    """The package that the script has to be run in, and the folder that holds it; both empty where it needs none.

    It needs one when it imports relative to itself: of as many folders as it goes up, and of those above that have a file
    `__init__.py`.
    """
    folder, levels = os.path.dirname(os.path.realpath(script)), _levels(script)
    if not levels:
        return "", ""
    names: list[str] = []
    while os.path.basename(folder).isidentifier() and (
        len(names) < levels or os.path.isfile(os.path.join(folder, "__init__.py"))
    ):
        names.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return (".".join(names), folder) if len(names) >= levels else ("", "")


def _levels(script: str) -> int:
    """How many folders the imports of a script go up, its own the first; 0 where none is relative."""
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return 0
    return max((node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)), default=0)
