"""Packages that find the root of a project."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

INDICATORS = (".project-root", "setup.cfg", "setup.py", ".git", "pyproject.toml")
"""What lies in the root of a project, unless the script says what does."""
VARIABLE = "PROJECT_ROOT"


def find_root(search_from: Any = ".", indicator: str | Iterable[str] = INDICATORS) -> Path:
    """The innermost folder around a path that has one of these; the one that the path is in, where none has."""
    path = Path(search_from).resolve()
    names = [indicator] if isinstance(indicator, str) else list(indicator)
    around = [path, *path.parents] if path.is_dir() else list(path.parents)
    return next((each for each in around if any((each / name).exists() for name in names)), around[0])


def set_root(
    path: Any,
    project_root_env_var: bool = True,  # noqa: FBT001, FBT002 - as the packages have it
    dotenv: bool = True,  # noqa: ARG001, FBT001, FBT002 - as above
    pythonpath: bool = False,  # noqa: FBT001, FBT002 - as above
    cwd: bool = False,  # noqa: FBT001, FBT002 - as above
) -> None:
    """Makes a folder known as the root."""
    if project_root_env_var:
        os.environ[VARIABLE] = str(path)
    if pythonpath and str(path) not in sys.path:
        sys.path.insert(0, str(path))
    if cwd:
        os.chdir(path)


def setup_root(search_from: Any, indicator: str | Iterable[str] = INDICATORS, *options: bool, **named: bool) -> Path:
    """Finds the root and makes it known."""
    root = find_root(search_from, indicator)
    set_root(root, *options, **named)
    return root


def _names() -> dict[str, Any]:
    return {"find_root": find_root, "set_root": set_root, "setup_root": setup_root}


NAMES = dict.fromkeys(("rootutils", "pyrootutils"), ("the folder that its indicator lies in", _names))
