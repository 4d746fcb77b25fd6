"""Which scripts `--probe` runs: those that are named; of a folder, those that one would start to train a model."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.sources.discovery import display
from torch_doctor.static.imports import Imports
from torch_doctor.trace import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch_doctor.probing import Runnable
    from torch_doctor.scan.options import Options
    from torch_doctor.sources.project import Project

TRAINING = frozenset(EVENTS[name] for name in ("Backward", "Stepped"))
"""The events of the static witness that show a script to train."""
_CALLS = frozenset(("backward", "fit", "manual_backward"))
_TRAINER = "Trainer"  # what the classes of frameworks that own the loop are called, or end with
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


class Started(Struct, frozen=True):
    """The scripts to be run, each with its project, and a line for each that trains and is not."""

    scripts: list[tuple[Path, Runnable]]
    left_out: list[str]


def of_a_folder(options: Options) -> bool:
    """Whether only folders are named, so that scripts have to be chosen."""
    return options.probe is not None and all(path.is_dir() for path in options.paths)


def started(options: Options, runnable: Sequence[Runnable]) -> Started:
    """Return the scripts that are named; if only folders are named, those in them that the configuration names to be run.

    If it names none, these are the files that train a model: a file that trains when it is run, under its main guard, or at
    top level if no other file imports it, tests aside.
    """
    if not of_a_folder(options):
        named = frozenset(options.paths)
        return Started([(script, part) for part in runnable for script in part.scripts if script in named], [])
    scripts = None if options.probe is None else options.probe.scripts
    if scripts is not None:
        return Started([(script, part) for part in runnable for script in part.scripts if scripts.match(script)], [])
    found = Started([], [])
    for part in runnable:
        imports = Imports(part.project)
        own = [trace for trace in part.traces if not trace.begins_outside]
        seen = {trace.path for trace in own if any(trace.of(event) for event in TRAINING)}
        for script in filter(part.project.matters, part.scripts):
            tree = part.project.tree(script)
            if tree is None or not (running := list(_run(tree))):
                continue
            if part.project.shown(script) not in seen and not _trains(tree, running):
                continue
            importer = None if any(map(_is_guard, tree.body)) else _importer(script, part.project, imports)
            if importer is None:
                found.scripts.append((script, part))
            else:
                found.left_out.append(f"{display(script)} is not run: it is imported by {display(importer)}")
    return found


def _run(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that do something when the file is run."""
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not isinstance(node, (*_DEFINITIONS, *_IMPORTS)) and not text:
            yield node


def _is_guard(node: ast.stmt) -> bool:
    """Whether this is `if __name__ == "__main__":`."""
    names = ast.walk(node.test) if isinstance(node, ast.If) else ()
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in names)


def _trains(tree: ast.Module, running: Sequence[ast.AST]) -> bool:
    """Whether what is run, or what it names of the same file, goes backward or hands a model to a framework's loop."""
    known: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS):
            known.setdefault(node.name, []).append(node)
    waiting = [part for part in running if not isinstance(part, _DEFINITIONS)]
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Call) and _is_training(node.func):
                return True
            name = _name(node)
            waiting += known.pop(name, ())
    return False


def _is_training(function: ast.expr) -> bool:
    name = _name(function)
    return (isinstance(function, ast.Attribute) and name in _CALLS) or name.endswith(_TRAINER)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _importer(script: Path, project: Project, imports: Imports) -> Path | None:
    """Another file of the project that imports the script, and is no test."""
    for path in project.mentions((script.stem,), project.python_files()):
        if path == script or _is_test(path, project):
            continue
        for node in ast.walk(project.tree(path) or ast.Module([], [])):
            if isinstance(node, _IMPORTS) and script in _imported(node, path, imports):
                return path
    return None


def _is_test(path: Path, project: Project) -> bool:
    parts = path.relative_to(project.root).parts
    return path.name == "conftest.py" or path.name.startswith("test_") or not {"test", "tests"}.isdisjoint(parts[:-1])


def _imported(node: ast.Import | ast.ImportFrom, path: Path, imports: Imports) -> Iterator[Path | None]:
    if isinstance(node, ast.Import):
        yield from (imports.find(path, alias.name) for alias in node.names)
        return
    module = node.module or ""
    if module:
        yield imports.find(path, module, node.level)
    yield from (imports.find(path, f"{module}.{alias.name}".lstrip("."), node.level) for alias in node.names)
