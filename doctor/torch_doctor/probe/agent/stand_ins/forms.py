"""What the user's code takes the value of a key for: other settings, several values, a text."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .source import spelled, targets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from .source import Sources

OF_TEXTS = frozenset({"lower", "upper", "split", "strip", "startswith", "endswith", "format", "replace"})
OF_PATHS = frozenset({"open", "Path", "imread", "exists", "isfile", "basename", "dirname", "splitext", "read_image"})
"""Functions of the path of a file; `os.path.join` is one where it takes more than one part."""
LISTING = frozenset({"enumerate", "len", "zip", "tuple", "list", "sorted", "max", "min", "sum"})
MAPPING, LIST, RECORDS, TEXT, NUMBER = "mapping", "list", "records", "text", "number"
READERS = frozenset({"load", "loads", "safe_load", "full_load", "unsafe_load"})


def form_of(sources: Sources, frame: FrameType | None, key: str) -> str:
    """What the value of a key is, where it is read and where the name goes that holds it; nothing where it is a plain one."""
    if frame is not None:
        found = _used(sources.statements(frame)[:1], key, [sources.tree(frame.f_code.co_filename)])
        if found:
            return found
    every = list(sources.project_trees())
    return _used(every, key, every)


def form_of_read(sources: Sources, frame: FrameType | None) -> str:
    """What the value is that the statement of a frame reads from a file, by the names that hold it."""
    statement = next(iter(sources.statements(frame)), None) if frame is not None else None
    if statement is None or frame is None:
        return ""
    files = [sources.tree(frame.f_code.co_filename)]
    for parent, node in _pairs(statement):
        if isinstance(node, ast.Call) and spelled(node) in READERS:
            found = _as(parent, node, files)
            for name in filter(None, targets(parent) if isinstance(parent, ast.stmt) else []):
                found = found or _held(name, files)
            return found
    return ""


def unpacked_into(sources: Sources, frame: FrameType | None) -> int:
    """How many names take the value that the statement of a frame reads; 0 where it is not taken apart."""
    statement = next(iter(sources.statements(frame)), None) if frame is not None else None
    found = [node for node in ast.walk(statement) if isinstance(node, ast.Assign)] if statement is not None else []
    return max((len(each.elts) for node in found for each in node.targets if isinstance(each, ast.Tuple)), default=0)


def _used(trees: list[Any], key: str, files: list[Any]) -> str:
    """The form of what is read under a key, or is held by the names that get it."""
    for tree in trees:
        for parent, node in _pairs(tree):
            if not _reads(node, key):
                continue
            found = _as(parent, node, files)
            for name in filter(None, targets(parent) if isinstance(parent, ast.stmt) else []):
                found = found or _held(name, files)
            if found:
                return found
    return ""


def _held(name: str, files: list[Any]) -> str:
    return next(
        (
            found
            for tree in files
            if tree is not None
            for parent, node in _pairs(tree)
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and spelled(node) == name
            if (found := _as(parent, node, files))
        ),
        "",
    )


def _pairs(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    return ((parent, node) for parent in ast.walk(tree) for node in ast.iter_child_nodes(parent))


def _reads(node: ast.AST, key: str) -> bool:
    """Whether an expression reads something under a key: `x["key"]`, `x.get("key")`, `x.key`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == key
    if isinstance(node, ast.Call) and spelled(node) == "get" and node.args:
        return isinstance(node.args[0], ast.Constant) and node.args[0].value == key
    return isinstance(node, ast.Attribute) and node.attr == key


def _as(parent: ast.AST, node: ast.AST, files: list[Any]) -> str:  # noqa: PLR0911 - by form
    """What an expression is taken for by what stands around it."""
    if isinstance(parent, ast.Subscript) and node is parent.value:
        if isinstance(parent.slice, ast.Constant):
            return MAPPING if isinstance(parent.slice.value, str) else _listed(parent, files)
        return RECORDS if _has_keys(parent, files) else ""
    if isinstance(parent, ast.Attribute):
        return TEXT if parent.attr in OF_TEXTS else MAPPING
    if isinstance(parent, ast.keyword) and parent.arg is None:
        return MAPPING
    if isinstance(parent, (ast.For, ast.comprehension)) and node is parent.iter:
        return _listed(parent, files)
    if isinstance(parent, ast.Starred):
        return LIST
    if isinstance(parent, ast.Call) and node in parent.args:
        name = spelled(parent)
        if name in OF_PATHS or (name == "join" and len(parent.args) > 1):
            return TEXT
        return _listed(parent, files) if name in LISTING else ""
    return ""


def _listed(around: ast.AST, files: list[Any]) -> str:
    """Whether what is gone through has keys: the code takes one of each, or of the first, by a text."""
    return RECORDS if _has_keys(around, files) else LIST


def _has_keys(around: ast.AST, files: list[Any]) -> bool:
    names = {each.id for each in ast.walk(around) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    names |= {each.arg for each in ast.walk(around) if isinstance(each, ast.arg)}
    holders: list[Any] = [around]
    for tree in files:
        for node in ast.walk(tree) if tree is not None else ():
            whole = isinstance(node, (ast.Assign, ast.For, ast.comprehension)) and any(
                each is around for each in ast.walk(node)
            )
            if whole and not isinstance(around, (ast.For, ast.comprehension)):
                stored = [
                    each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                ]
                names |= {each.id for each in stored}
        holders.append(tree)
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and (spelled(node.value) in names or node.value is around)
        for tree in holders
        if tree is not None
        for node in ast.walk(tree)
    )
