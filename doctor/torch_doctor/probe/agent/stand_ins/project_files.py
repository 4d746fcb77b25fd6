"""Files of the project that a script means, and does not name, or names by where they lie on another machine."""

from __future__ import annotations

import ast
import glob
import json
import os
import re
from typing import TYPE_CHECKING

from .source import INSTALLED, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .source import Sources

ENDINGS = (".yaml", ".yml", ".json", ".toml", ".ini")
RUNNING = frozenset(
    {"load_source", "SourceFileLoader", "spec_from_file_location", "run_path", "DEFINE_config_file", "fromfile"}
)
"""Functions that run a file as a module, or whose flag does."""
CALLED = ("conf", "cfg", "param")
OTHERS = ("environment", "conda", "docker", "mkdocs", "package", "codecov", "readthedocs", "action", "tsconfig")
"""Names of files that configure other things than a training."""
KEY = re.compile(r"^[\"']?(\w+)[\"']?\s*[:=]", re.MULTILINE)
KNOWN = 0.5  # of the keys of a file, which the code has to spell
LARGEST = 100_000  # bytes of a configuration
MOST_FILES = 5_000


def configuration(sources: Sources, name: str = "", *, ending: str = "") -> str | None:
    """The file of the project that an argument of this name means, with an ending if there is one.

    That with a word of the name in its own; else of those that are called a configuration the one of whose keys the script
    spells most, the first of several; else that whose keys the code spells.
    """
    own = [word for word in re.split(r"[_.-]+", name.lower()) if len(word) > 2 and not _is_called(word)]  # noqa: PLR2004
    found: list[str] = []
    called: list[str] = []
    endings = (ending,) if ending else (".py",) if _runs_files(sources) else ENDINGS
    for path in _files(sources):
        stem, suffix = os.path.splitext(os.path.basename(path).lower())
        base = os.path.basename(os.path.dirname(path)).startswith("_") or stem.startswith(
            "_"
        )  # which others are built on
        if suffix in endings and path != sources.script and not base and not any(word in stem for word in OTHERS):
            if any(word in stem for word in own):
                return path
            folder = os.path.basename(os.path.dirname(path)).lower()
            (called if _is_called(f"{folder} {stem}") else found).append(path)
    if called:
        words = _words([sources.tree(sources.script)]) if len(called) > 1 else frozenset()
        return max(called, key=lambda path: _share(path, words))
    return _spelled(sources, found) if endings is ENDINGS else None


def settings_file(sources: Sources) -> str | None:
    """The file of the project whose keys the code spells, whatever it is called."""
    paths = [path for path in _files(sources) if path.lower().endswith(ENDINGS)]
    return _spelled(sources, [path for path in paths if not any(word in os.path.basename(path) for word in OTHERS)])


def _spelled(sources: Sources, paths: list[str]) -> str | None:
    words = _words(sources.project_trees()) if paths else frozenset()
    share, path = max(((_share(path, words), path) for path in paths), key=lambda each: each[0], default=(0.0, ""))
    return path if share >= KNOWN else None


def between(sources: Sources, before: str, after: str) -> str | None:
    """What stands between two texts in the path of a file of the project, from where the script is run or lies."""
    for top in (os.getcwd(), sources.project, os.path.dirname(sources.script)):
        start = os.path.join(top, before) if before else top + os.sep
        found = sorted(glob.glob(f"{glob.escape(start)}*{glob.escape(after)}"))
        found = [path for path in found if os.path.isfile(path) and not os.path.basename(path).startswith(("_", "."))]
        parts = [path[len(start) : len(path) - len(after)] for path in found]
        if parts:
            return next((part for word in CALLED for part in parts if word in part), parts[0])
    return None


def _runs_files(sources: Sources) -> bool:
    """Whether the code runs a file of Python whose path it is given, and reads settings from it."""
    return any(
        isinstance(node, ast.Call) and spelled(node.func) in RUNNING
        for tree in sources.project_trees()
        for node in ast.walk(tree)
    )


def _is_called(words: str) -> bool:
    return any(word in words for word in CALLED)


def meant(sources: Sources, name: str) -> str | None:
    """The file of the project that a path means which is not there: that with the longest end in common.

    What is relative has to be found as a whole, from another folder; of a path from elsewhere one name is enough if the
    project has a single file of it.
    """
    if "\\" in name and os.path.exists(other := os.path.abspath(name.replace("\\", os.sep))):
        return other  # as Windows spells it
    parts = [part for part in re.split(r"[\\/]+", os.path.normpath(name)) if part not in ("", ".", "..")]
    whole = os.path.isabs(name) or bool(re.match(r"[A-Za-z]:", name)) or name.startswith("~")
    if not parts or name.startswith(sources.project + os.sep):
        return None
    ranked = [(_common(path.split(os.sep), parts), path) for path in _files(sources)]
    most = max((length for length, _ in ranked), default=0)
    best = [path for length, path in ranked if length == most]
    several = parts[-1].endswith(ENDINGS) and most > 1  # settings, with the folder that they are in
    if (
        most == 0
        or (not whole and most < len(parts) and not several)
        or (most == 1 and (len(best) > 1 or len(parts) == 1))
    ):
        return None
    return best[0]


def _files(sources: Sources) -> Iterator[str]:
    left = MOST_FILES
    for top, folders, names in os.walk(sources.project):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in INSTALLED)
        for name in sorted(names):
            left -= 1
            if left < 0:
                return
            yield os.path.join(top, name)


def _common(path: list[str], parts: list[str]) -> int:
    """How many parts two paths have in common, from their end."""
    count = 0
    for one, other in zip(reversed(path), reversed(parts)):  # noqa: B905 - Python 3.9 has no `strict`
        if one != other:
            break
        count += 1
    return count


def _share(path: str, words: frozenset[str]) -> float:
    """Which part of the first level of a configuration the code spells."""
    try:
        if os.path.getsize(path) > LARGEST:
            return 0.0
        with open(path, encoding="utf-8") as file:
            text = file.read()
        keys = list(json.loads(text)) if path.endswith(".json") else KEY.findall(text)
    except (OSError, ValueError, TypeError):
        return 0.0
    return sum(key in words for key in keys) / len(keys) if keys else 0.0


def _words(trees: Iterable[ast.Module | None]) -> frozenset[str]:
    """The attributes, keywords and texts of some code."""
    found: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
    return frozenset(found)
