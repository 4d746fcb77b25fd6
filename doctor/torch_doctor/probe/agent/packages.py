"""A script that is part of a package: it is run as `python -m package.script` where it imports from beside itself."""

from __future__ import annotations

import ast
import os


def package_of(script: str) -> tuple[str, str]:
    """The package that the script has to be run in, and the folder that holds it; both empty where it needs none.

    It needs one when a file `__init__.py` lies beside it and its own top level imports relative to it.
    """
    folder = os.path.dirname(os.path.realpath(script))
    if not os.path.isfile(os.path.join(folder, "__init__.py")) or not _imports_relatively(script):
        return "", ""
    names: list[str] = []
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.basename(folder).isidentifier():
        names.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return ".".join(names), folder


def _imports_relatively(script: str) -> bool:
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    return any(isinstance(node, ast.ImportFrom) and node.level for node in tree.body)
