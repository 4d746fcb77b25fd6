"""Whose libraries are read, and where answers about them are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from msgspec import Struct


class Environment(Struct, frozen=True):
    """Whose libraries are read: those of the interpreter, or of the environment, `python` ("": the project's).

    `cache` is the folder in which answers are kept; None: nowhere.
    """

    python: str = ""
    cache: Path | None = None


def usual_folder() -> Path | None:
    """Where a user's caches lie; None where there is no such place."""
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    told = os.environ.get(variable, "")
    try:
        return (Path(told) if Path(told).is_absolute() else Path.home() / ".cache") / "torch-doctor"
    except RuntimeError:
        return None
