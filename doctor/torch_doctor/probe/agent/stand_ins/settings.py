"""Configuration files that are not there: what they hold grows by what the user's code reads of it."""

from __future__ import annotations

import ast
import functools
import json
import sys
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .arguments.values import number, untyped
from .source import AGENT, spelled, targets
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, ModuleType

    from .source import Sources

MARK = "torch-doctor settings"
LOADERS = ("load", "safe_load", "full_load", "unsafe_load")
OF_MAPPINGS = frozenset({"items", "keys", "values", "get", "update", "copy", "setdefault", "pop"})
OF_TEXTS = frozenset({"lower", "upper", "split", "strip", "startswith", "endswith", "format", "replace"})
LISTING = frozenset({"enumerate", "len", "zip", "tuple", "list", "sorted", "max", "min", "sum"})
MAPPING, LIST, TEXT = "mapping", "list", "text"
DEEPEST = 3


def marked(path: str) -> str:
    """The text of a file that stands for settings, for JSON and YAML alike."""
    return json.dumps({MARK: path})


class SettingsFiles(StandIn):
    """Has what is read from such files be settings that grow."""

    replaces = "file not found"
    voids = (told.FILES, told.VALUES, told.SHAPES, told.ARGUMENTS)

    def prepare(self) -> None:
        """Patches what reads JSON and YAML, in an attempt that has learnt of such a file."""
        if any(form == "settings" for form in self.learnt.looked("file")):
            decoder: Any = json.JSONDecoder
            decoder.decode = self._reading(decoder.decode)
            after("yaml", self._patch)

    def _patch(self, module: ModuleType) -> None:
        yaml: Any = module
        for name in LOADERS:
            setattr(yaml, name, self._reading(getattr(yaml, name)))

    def _reading(self, read: Any) -> Any:
        @functools.wraps(read)
        def reading(*arguments: Any, **keywords: Any) -> Any:
            content = read(*arguments, **keywords)
            if isinstance(content, dict) and list(content) == [MARK]:
                return Settings(self, content[MARK])
            return content

        return reading

    def grown(self, path: str, key: str, frame: FrameType | None) -> Any:
        """What the settings at a path hold under a key, by what the code does with it."""
        whole = f"{path}.{key}"
        form = _form(self.sources, frame, key)
        if form == MAPPING:
            return Settings(self, whole)
        if form == LIST:
            value: Any = [number(key.removesuffix("s"))] * 2
        else:
            value = untyped(key, self.sources)
            if form != TEXT:
                value = int(value) if value.isdecimal() else float(value) if _is_float(value) else value
        self.tell(whole, repr(value))
        return value


class Settings(dict[str, Any]):
    """Settings whose keys are there when they are asked for."""

    def __init__(self, files: SettingsFiles, path: str) -> None:
        super().__init__()
        self._files = files
        self._path = path
        learnt = files.learnt.of("columns", path) or ()
        for key in learnt:
            self[key] = files.grown(path, key, None)

    def __missing__(self, key: Any) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(AGENT):
            frame = frame.f_back
        self[key] = value = self._files.grown(self._path, str(key), frame)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        """What is under a key; what is given instead where that is something."""
        return self[key] if default is None or key in self else default

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __deepcopy__(self, _: Any) -> Settings:
        return self


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _form(sources: Sources, frame: FrameType | None, key: str) -> str:
    """What the code takes the value of a key for, where it is read and where the name goes that holds it."""
    if frame is not None:
        statements = sources.statements(frame)
        trees: list[ast.AST] = [*statements[:1]]
        found = _used(trees, key, [sources.tree(frame.f_code.co_filename)])
        if found:
            return found
    every = list(sources.project_trees())
    return _used(every, key, every)


def _used(trees: list[Any], key: str, files: list[Any], depth: int = DEEPEST) -> str:
    """The form of what is read under a key, or is held by the names that get it."""
    for tree in trees:
        for parent, node in _pairs(tree):
            if _reads(node, key):
                found = _as(parent, node)
                if found:
                    return found
                held = [name for name in targets(parent) if name] if isinstance(parent, ast.stmt) and depth else []
                for name in held:
                    found = _held(name, files)
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
            if (found := _as(parent, node))
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


def _as(parent: ast.AST, node: ast.AST) -> str:
    """What an expression is taken for by what stands around it."""
    if isinstance(parent, ast.Subscript) and node is parent.value:
        texts = isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str)
        return MAPPING if texts else LIST if isinstance(parent.slice, ast.Constant) else ""
    if isinstance(parent, ast.Attribute):
        return TEXT if parent.attr in OF_TEXTS else MAPPING
    if isinstance(parent, ast.keyword) and parent.arg is None:
        return MAPPING
    if isinstance(parent, (ast.For, ast.comprehension)) and node is parent.iter:
        return LIST
    if isinstance(parent, ast.Starred) or (
        isinstance(parent, ast.Call) and spelled(parent) in LISTING and node in parent.args
    ):
        return LIST
    return ""
