"""Scripts that should train, and of whose training nothing was understood: their silence is no health."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from torch_doctor.static.imports import Imports
from torch_doctor.static.tables.libraries import HARMLESS, PLAIN
from torch_doctor.trace import Backward, GaveUp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_doctor.sources.project import Project
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.trace import Event, Trace

_DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)
_REPEATED = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
_KNOWN = frozenset((*sys.stdlib_module_names, "torch", *(name.partition(".")[0] for name in HARMLESS | PLAIN)))
"""Packages of which enough is known: that nobody looks into them explains nothing."""


class Unfollowed:
    """Hears every trace of a project, and says which of its scripts train out of sight.

    `wanted` are the events that the traces have (None: all): without gradients among them, nothing is said.
    """

    def __init__(self, wanted: frozenset[type[Event]] | None) -> None:
        self._looks = wanted is None or Backward in wanted
        self._understood: set[str] = set()
        self._ended: dict[str, str] = {}

    def hear(self, trace: Trace) -> None:
        """Note in which files somebody's gradients were seen, and which runs were given up."""
        for event in trace.of(Backward):
            if event.modules or event.forwards or event.inputs_only or event.whole:
                self._understood.add(event.site.path)
        for gave_up in trace.of(GaveUp):
            self._ended.setdefault(trace.path, gave_up.reason)

    def remarks(self, project: Project, files: Sequence[SourceFile]) -> Iterator[str]:
        """One line for each script in which something goes backward, and nobody knows what."""
        imports = Imports(project)
        for file in files if self._looks else ():
            if file.display in self._understood or ".backward(" not in file.text:
                continue
            tree = project.tree(file.path)
            around = _around_backward(tree) if tree is not None and _is_script(tree) else ()
            if any(isinstance(node, _REPEATED) for node in around):
                missing = dict(_missing(around[-1], file, imports))
                why = self._ended.get(file.display) or _said(around, missing) or "what it trains is not in sight"
                yield f"no training loop was followed in {file.display}: {why}"


def _is_script(tree: ast.Module) -> bool:
    """Whether running the file does more than to define things, and `backward` is no method of its own."""
    if any(isinstance(node, ast.FunctionDef) and node.name == "backward" for node in ast.walk(tree)):
        return False
    return any(
        not isinstance(node, _DEFINITIONS) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in tree.body
    )


def _around_backward(tree: ast.AST) -> tuple[ast.AST, ...]:
    """The first call of a method `backward` and what it lies in, from the inside to the whole file."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            return node, tree
        if found := _around_backward(node):
            return *found, tree
    return ()


def _missing(tree: ast.AST, file: SourceFile, imports: Imports) -> Iterator[tuple[str, str]]:
    """The names that come from modules that cannot be found, with these modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            named = [("." * node.level + (node.module or ""), alias.asname or alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            named = [(alias.name, (alias.asname or alias.name).partition(".")[0]) for alias in node.names]
        else:
            continue
        for module, name in named:
            level = len(module) - len(module.lstrip("."))
            known = not level and module.partition(".")[0] in _KNOWN
            if not known and imports.find(file.path, module.lstrip("."), level) is None:
                yield name, module


def _said(around: Sequence[ast.AST], missing: Mapping[str, str]) -> str:
    """Which of the names matters: the one that is used nearest to the backward."""
    for node in around:
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        for name, module in missing.items():
            if name in used:
                return f"`{name}` comes from {module}, which cannot be found"
    return ""
