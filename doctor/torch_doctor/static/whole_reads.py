"""The files that the scripts of a project read whole objects from, as their source spells them: a model, say."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torch_doctor.static.saves import MOST, last, texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch_doctor.sources.project import Project

LOAD = "load"
OF_OBJECTS = frozenset(
    (
        "eval",
        "train",
        "parameters",
        "named_parameters",
        "modules",
        "children",
        "state_dict",
        "forward",
        "zero_grad",
        "step",
    )
)
"""Methods of modules and optimizers that neither tensors nor dictionaries have."""
_MOVES = frozenset(("to", "cuda", "cpu", "half", "float", "double"))
"""Methods of modules that tensors have, too."""

_found: WeakKeyDictionary[Project, frozenset[str]] = WeakKeyDictionary()


def read_whole(project: Project) -> frozenset[str]:
    """Patterns of the paths of the files that a script reads and then uses as a module, or may do so."""
    if project not in _found:
        paths = project.mentions((LOAD,), project.python_files())
        _found[project] = frozenset(name for path in paths for name in _known(project, path))
    return _found[project]


def _known(project: Project, path: Path) -> list[str]:
    """The patterns in one file, which are worked out once for as long as it stays as it is."""
    kind = "read whole", path
    if kind not in project.worked_out:
        project.worked_out[kind] = sorted(set(_read_in(project, path)))
    return project.worked_out[kind]


def _read_in(project: Project, path: Path) -> Iterator[str]:
    tree = project.tree(path) if project.matters(path) else None
    if tree is None:
        return
    names: dict[str, list[ast.expr]] = {}
    read: dict[str, list[ast.Call]] = {}  # by what they are assigned to
    aliases: list[tuple[str, str]] = []
    used: set[str] = set()
    whole: list[ast.Call] = []
    restored = {part for node in ast.walk(tree) if isinstance(node, ast.Call) for part in _restored(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            call = _loading(node.value)
            for target in node.targets:
                if call is not None:
                    read.setdefault(ast.unparse(target), []).append(call)
                elif isinstance(target, ast.Name):
                    names.setdefault(target.id, []).append(node.value)
                if _under(node.value) is not node.value:
                    aliases.append((ast.unparse(target), ast.unparse(_under(node.value))))
        elif isinstance(node, ast.Attribute) and node.attr in OF_OBJECTS | _MOVES:
            call = _loading(node.value)
            whole += [] if call is None else [call]
            used |= {ast.unparse(node.value), ast.unparse(_under(node.value))}
        elif isinstance(node, ast.Call):
            used |= {ast.unparse(node.func), ast.unparse(_under(node.func))}
            passed = (each for each in node.args if _under(each) is not each and each not in restored)
            used |= {ast.unparse(_under(each)) for each in passed}
        elif isinstance(node, ast.Return) and node.value is not None and (call := _loading(node.value)) is not None:
            whole.append(call)  # whoever calls the function may take it for anything
    used |= {source for target, source in aliases if target in used}
    for call in (*whole, *(call for name, calls in read.items() if name in used for call in calls)):
        given = call.args[:1] or [each.value for each in call.keywords if each.arg == "f"]
        for path_given in given:
            yield from islice(texts(path_given, names), MOST)


def _restored(call: ast.Call) -> list[ast.expr]:
    """What a call loads into a module or an optimizer."""
    return call.args if last(call.func) == "load_state_dict" else []


def _under(value: ast.expr) -> ast.expr:
    """What an item is an item of."""
    while True:
        if isinstance(value, ast.Subscript):
            value = value.value
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "get":
            value = value.func.value
        else:
            return value


def _loading(value: ast.expr) -> ast.Call | None:
    """The call that reads a file, of which a value is what was read, or an item of it, moved or not."""
    while isinstance(value, ast.Call | ast.Subscript):
        if isinstance(value, ast.Subscript):
            value = value.value
            continue
        if last(value.func) == LOAD and ast.unparse(value.func) in (LOAD, f"torch.{LOAD}"):
            return value
        if not isinstance(value.func, ast.Attribute):
            return None
        value = value.func.value
    return None
