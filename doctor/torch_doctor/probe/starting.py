"""The folder that a script is meant to be started in, by the files and folders that its paths name."""

from __future__ import annotations

import ast
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LONGEST = 200  # characters of a path
MOST = 50  # files of a project that are read


class Start(NamedTuple):
    """The folder that a script is started in, and what only that folder has ("" where nothing speaks against ours)."""

    folder: Path
    path: str = ""


def start(cwd: Path, script: Path, root: Path, files: Iterable[Path]) -> Start:
    """Where a script is started: here, unless what its code names exists beside it, or in `root`, and none of it here.

    Hooks and CI jobs start everything from the root of a repository, also what is documented as `cd examples/vae; python
    main.py`. `files` are those of the project that the script runs; one that cannot be read names no path.
    """
    named = list(dict.fromkeys(path for file in [script, *files][:MOST] for path in _named(file)))
    if not any(_there(cwd, path) for path in named):
        for folder in (script.parent, root):
            found = next(filter(None, (_there(folder, path) for path in named)), "")
            if found:
                return Start(folder, found)
    return Start(cwd)


def _named(file: Path) -> Iterator[PurePath]:
    """The relative paths that a file names: with a folder, or with a suffix."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        path = PurePath(text if len(text) < LONGEST and text.isprintable() else "")
        if ("/" in text or path.suffix) and not path.is_absolute():
            yield path


def _there(folder: Path, path: PurePath) -> str:
    """What a folder has of a path: all of it, or the folder that it writes to; "" for nothing."""
    found = (part for part in (path, path.parent) if set(part.parts) - {".."} and (folder / part).exists())
    return str(next(found, ""))
