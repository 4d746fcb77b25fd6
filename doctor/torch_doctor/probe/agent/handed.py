"""The paths that a script gives to what is made up: the real thing might have made folders there, as loggers and downloads do."""

from __future__ import annotations

import ast
import os
from collections import Counter
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

LONGEST = 512  # characters of a path that is kept
MOST = 10_000  # paths that are kept
MANY, DEEP = 200, 3  # entries of one thing that are looked at, and how deep they lie
COMPUTING = frozenset({"builtins", "torch", "numpy", __name__.partition(".")[0]})
"""Packages whose objects hold no settings."""

TIMES = 20  # times that the names of one line are looked at

_paths: set[str] = set()
_seen: Counter[tuple[str, int]] = Counter()


def hand(values: Iterable[Any]) -> None:
    """Keep the paths among values, and in settings that are among them."""
    for each in values:
        _paths.update(path for path in _strings(each, DEEP) if len(_paths) < MOST)


def is_new(frame: FrameType) -> bool:
    """Whether the line that a frame runs was looked at a few times only: it may be in a loop."""
    _seen[frame.f_code.co_filename, frame.f_lineno] += 1
    return _seen[frame.f_code.co_filename, frame.f_lineno] <= TIMES


def hand_of(frame: FrameType, nodes: Iterable[ast.AST]) -> None:
    """Keep the paths that the expressions of a statement name: where a stand-in is told, it has been called there."""
    for node in nodes:
        if isinstance(node, ast.Constant):
            hand([node.value, *str(node.value).split()])
        elif isinstance(node, ast.Name):
            hand([frame.f_locals.get(node.id, frame.f_globals.get(node.id))])


def hand_anything() -> None:
    """Something was left out that might have made any folder."""
    _paths.add(os.sep)


def may_be_made(folder: str) -> bool:
    """Whether what is made up was given a folder, one in it, or one around it that is not around the script."""
    whole, here = os.path.abspath(folder), os.getcwd()
    if os.sep in _paths:
        return True
    for path in map(os.path.abspath, _paths):
        if path == whole or path.startswith(whole + os.sep):
            return True
        if whole.startswith(path + os.sep) and not f"{here}{os.sep}".startswith(path + os.sep):
            return True
    return False


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, (str, os.PathLike)):
        path = str(value) if isinstance(value, (str, PurePath)) else ""
        if path.strip(os.sep) and len(path) <= LONGEST and "\0" not in path:
            yield path
    elif depth:
        inner: Any = ()
        if isinstance(value, dict):
            inner = value.values()
        elif isinstance(value, (list, tuple, set)):
            inner = value
        elif type(value).__module__.partition(".")[0] not in COMPUTING and not callable(value):
            inner = getattr(value, "__dict__", {}).values()
        for each in islice(inner, MANY):
            yield from _strings(each, depth - 1)
