"""What the user's own source says around the line that is running."""

from __future__ import annotations

import ast
import os
import pathlib
import sys
import tokenize
from typing import TYPE_CHECKING

from ..rewriting.early_torch import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INSTALLED = ("site-packages", "dist-packages")
AGENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
OF_PATHS = os.path.dirname(pathlib.__file__) + os.sep if hasattr(pathlib, "__path__") else pathlib.__file__
"""Where the methods of paths are defined, which open files for whoever calls them."""
LARGEST = 2_000_000  # bytes of a source that is looked at
MOST_FILES = 500


class Sources:
    """The files below the folder `project` that are the user's own.

    `found_no_data` is set when their code has listed a folder of data and there was nothing in it; `sought` are the files
    and folders that it asked for and that are not there. `chosen` has the names of arguments for which one of several words
    of the script was taken: two of these may not go together.
    """

    def __init__(self, project: str, script: str) -> None:
        self.project = os.path.realpath(project)
        self.script = script
        self.found_no_data = False
        self.chosen: set[str] = set()
        self.sought: dict[str, None] = {}
        self._own: dict[str, bool] = {}
        self._trees: dict[str, ast.Module | None] = {}

    # --- frames ---

    def is_users(self, path: str) -> bool:
        """Whether code from `path` is the user's: below the project, and nothing installed."""
        known = self._own.get(path)
        if known is None:
            whole = os.path.realpath(path)
            below = whole == self.script or self.is_below(path)
            known = below and not any(part in INSTALLED for part in whole.split(os.sep)) and not path.startswith("<")
            self._own[path] = known
        return known

    def is_below(self, path: str) -> bool:
        """Whether a path lies in the project."""
        return os.path.realpath(path).startswith(self.project + os.sep)

    def called_by_user(self, depth: int = 2, *, by_path: bool = False) -> bool:
        """Whether the function that asks was called from the user's own code; `depth` frames up is its caller.

        The agent's own functions, of which one may wrap another, are passed over, and with `by_path` the methods of paths.
        """
        passed = (AGENT, OF_PATHS) if by_path else (AGENT,)
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None and frame.f_code.co_filename.startswith(passed):
            frame = frame.f_back
        return frame is not None and self.is_users(frame.f_code.co_filename)

    def frames(self) -> Iterator[FrameType]:
        """The user's frames that are running, the innermost first."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self.is_users(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back

    def innermost(self) -> FrameType | None:
        """The innermost frame of the user's that is running."""
        return next(self.frames(), None)

    # --- trees ---

    def tree(self, path: str) -> ast.Module | None:
        """The syntax tree of `path`; None where it cannot be read."""
        if path not in self._trees:
            self._trees[path] = _parsed(path)
        return self._trees[path]

    def statements(self, frame: FrameType) -> list[ast.stmt]:
        """The statements around the line that `frame` runs, the innermost first."""
        return self.around(frame.f_code.co_filename, frame.f_lineno)

    def around(self, path: str, row: int) -> list[ast.stmt]:
        """The statements around a line of a file, the innermost first."""
        tree = self.tree(path)
        return _around(tree, row) if tree is not None else []

    def project_trees(self) -> Iterator[ast.Module]:
        """The trees of the script, of what lies beside it, and of what is loaded: where its arguments are looked at."""
        yield from (tree for _, tree in self.files(os.path.dirname(self.script)))

    def files(self, top: str) -> Iterator[tuple[str, ast.Module]]:
        """The trees of the script, of what is loaded, and of what lies in a folder, each with its path; at most so many."""
        yield from self._loaded()
        seen = {self.script, *(path for path, tree in self._trees.items() if tree is not None)}
        for at, folders, names in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in INSTALLED]
            for name in names:
                path = os.path.join(at, name)
                if name.endswith(".py") and path not in seen and len(seen) < MOST_FILES:
                    seen.add(path)
                    tree = self.tree(path)
                    if tree is not None:
                        yield path, tree

    def trees(self) -> Iterator[ast.Module]:
        """The trees of the user's modules that are loaded so far, the script's first."""
        yield from (tree for _, tree in self._loaded())

    def _loaded(self) -> Iterator[tuple[str, ast.Module]]:
        script = self.tree(self.script)
        if script is not None:
            yield self.script, script
        for module in list(sys.modules.values())[:]:
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path != self.script and path.endswith(".py") and self.is_users(path):
                tree = self.tree(path)
                if tree is not None:
                    yield path, tree


def _parsed(path: str) -> ast.Module | None:
    try:
        if os.path.getsize(path) > LARGEST:
            return None
        with tokenize.open(path) as file:
            return parsed(file.read(), path)[0]
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _around(node: ast.AST, line: int) -> list[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, (ast.stmt, ast.ExceptHandler)) or hasattr(child, "body"):
            first = getattr(child, "lineno", None)
            if first is None or first <= line <= (child.end_lineno or first):  # type: ignore[attr-defined]
                inner = _around(child, line)
                if isinstance(child, ast.stmt):
                    return [*inner, child]
                if inner:
                    return inner
    return []


def expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting += [each for each in ast.iter_child_nodes(node) if not isinstance(each, (ast.stmt, ast.ExceptHandler))]


def spelled(node: ast.AST) -> str:
    """The last name of a name, an attribute or the function of a call (`df` of `self.df`); empty for the rest."""
    if isinstance(node, ast.Call):
        return spelled(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def targets(statement: ast.stmt) -> list[str]:
    """The last names of what an assignment gives a value to."""
    if isinstance(statement, ast.Assign):
        given = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        given = [statement.target]
    else:
        return []
    flat = [
        part for target in given for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
    ]
    return [spelled(target) for target in flat]
