"""The files that the scripts of a project save, as their source spells them: a script reads what another has written."""

from __future__ import annotations

import ast
import posixpath
from itertools import islice
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torch_doctor.static.tables import training

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch_doctor.sources.project import Project

ANY = "*"
"""What is not known of a name."""
MOST = 4
"""Texts that one name may stand for."""
_SAVES = {name.rpartition(".")[2]: position + 1 for name, position in training.SAVES.items()}
_STATE = "state_dict"
NAMES = frozenset((*_SAVES, _STATE))
"""Identifiers that a file has that saves something."""
_SAME = frozenset(("Path", "str", "open", "expanduser", "abspath"))


_found: WeakKeyDictionary[Project, frozenset[str]] = WeakKeyDictionary()


def saved(project: Project) -> frozenset[str]:
    """Patterns of the names of the files that the scripts of the project save, with the folder where the name is not known."""
    if project not in _found:
        paths = project.mentions(sorted(NAMES), project.python_files())
        _found[project] = frozenset(name for path in paths for name in _known(project, path))
    return _found[project]


def _known(project: Project, path: Path) -> list[str]:
    """The names in one file, which are worked out once for as long as it stays as it is."""
    kind = "saved", path
    if kind not in project.worked_out:
        project.worked_out[kind] = sorted(set(_saved_in(project, path)))
    return project.worked_out[kind]


def _saved_in(project: Project, path: Path) -> Iterator[str]:
    tree = project.tree(path) if project.matters(path) else None
    if tree is None:
        return
    names: dict[str, list[ast.expr]] = {}
    calls: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if name := _name(target):
                    names.setdefault(name, []).append(node.value)
        elif isinstance(node, ast.Call):
            calls += _paths(node)
    for given in calls:
        for text in islice(texts(given, names), MOST):
            name = posixpath.basename(text)
            folder = posixpath.basename(posixpath.dirname(text))
            if name.partition(".")[0].strip(ANY):  # what is only an ending says nothing
                yield name
            elif folder.strip(ANY):
                yield f"{folder}/{name}"


def _paths(call: ast.Call) -> list[ast.expr]:
    """What a call may save under: the path of `torch.save`, and whatever stands beside a state that a function gets."""
    position = _SAVES.get(last(call.func))
    if position is not None:
        return call.args[position : position + 1] or [each.value for each in call.keywords if each.arg == "f"]
    given = [*call.args, *(each.value for each in call.keywords)]
    others = [each for each in given if not _holds_state(each)]
    return others if len(others) < len(given) and last(call.func) != f"load_{_STATE}" else []


def _holds_state(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Call) and last(each.func) == _STATE for each in ast.walk(node))


def texts(node: ast.expr, names: dict[str, list[ast.expr]], depth: int = 4) -> Iterator[str]:
    """What a path may be, with `*` for what is not known."""
    inner = node.value if isinstance(node, ast.FormattedValue) else node
    if isinstance(inner, ast.Constant):
        yield str(inner.value)
    elif depth and (name := _name(inner)) in names:
        for value in names[name][:MOST]:
            yield from islice(texts(value, names, depth - 1), MOST)
    elif isinstance(inner, ast.JoinedStr):
        yield _one(inner.values, names, depth)
    elif isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Add, ast.Div)):
        yield _one((inner.left, inner.right), names, depth, "/" if isinstance(inner.op, ast.Div) else "")
    elif isinstance(inner, ast.Call) and last(inner.func) in _SAME and inner.args:
        yield from texts(inner.args[0], names, depth)
    elif isinstance(inner, ast.Call) and (last(inner.func) == "format" or inner.args):
        filled = [inner.func.value] if isinstance(inner.func, ast.Attribute) else []
        if last(inner.func) != "format":  # it joins them, or may do so, or fills one in
            yield _one(inner.args, names, depth, "/")
            filled = []
        for template in (*filled, *inner.args[:-1]):
            for text in islice(texts(template, names, depth), MOST):
                yield _blank(text, "{", "}")
    else:
        yield ANY


def _name(node: ast.expr) -> str:
    """A variable, or an attribute of the object itself; "" for anything else."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.id if isinstance(node, ast.Name) else ast.unparse(node) if own else ""


def _one(
    parts: list[ast.expr] | tuple[ast.expr, ...], names: dict[str, list[ast.expr]], depth: int, between: str = ""
) -> str:
    return between.join(next(texts(part, names, depth), ANY) for part in parts)


def _blank(text: str, begins: str, ends: str) -> str:
    """A text in which something else stands in the place of each field."""
    first, *others = text.split(begins)
    return first + "".join(ANY + other.partition(ends)[2] for other in others)


def last(func: ast.expr) -> str:
    """The last name of a function that is called; "" where it has none."""
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
