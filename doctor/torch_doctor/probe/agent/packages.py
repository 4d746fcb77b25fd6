"""A script that is part of a package: it is run as `python -m package.script` where it imports from beside itself."""

from __future__ import annotations

import ast
import os


def package_of(script: str) -> tuple[str, str]:
    """The package that the script has to be run in, and the folder that holds it; both empty where it needs none.

    It needs one when it imports relative to itself: of as many folders as it goes up, and of those above that have a file
    `__init__.py`. It also needs one when it imports from its own folder by name, which a module beside it would hide.
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
    """How many folders the imports of a script go up, its own the first; 0 where none does."""
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return 0
    levels = max((node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)), default=0)
    return levels or int(_names_its_folder(tree, os.path.dirname(os.path.realpath(script))))


def _names_its_folder(tree: ast.Module, folder: str) -> bool:
    """Whether `net/train.py` imports `net.layers`, which is there, although `net/net.py` would be taken for `net`."""
    own = os.path.basename(folder)
    if not os.path.isfile(os.path.join(folder, f"{own}.py")):
        return False
    names = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    inside = [name.split(".")[1] for name in names if name.startswith(f"{own}.")]
    return any(os.path.exists(os.path.join(folder, end)) for name in inside for end in (f"{name}.py", name))
