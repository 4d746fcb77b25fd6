"""Whose fault an exception is: the script's, or the agent's own."""

from __future__ import annotations

import linecache
import os
import re
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sites import Sites

FOLDER = os.path.dirname(os.path.abspath(__file__))
LOOKING = ("watching", "instruments", "checkup", "recorder.py", "scopes.py", "sites.py", "nodes.py", "identities.py")
"""What only looks on: stand-ins, the guard and caps raise what scripts are meant to see."""
HANDS_ON = re.compile(r"\b(original|call|function|func)\(|\bsuper\(\)\.|\w\((?:[\w.]+, )*\*\w+")
"""A line that calls what a wrapper is in the place of, or passes on what it was given: that raises without us, too."""


def is_ours(error: BaseException, sites: Sites) -> bool:
    """Whether something of the agent's raised it, or a compiler that came upon the agent in what it read."""
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    looking = [number for number, (path, _) in enumerate(frames) if _looks_on(path)]
    if looking and not any(sites.is_users(path) for path, _ in frames[looking[-1] :]):
        line = linecache.getline(*frames[looking[-1]])
        if line and not HANDS_ON.search(line):
            return True
    return bool(looking) and any(os.path.join(FOLDER, part) in str(error) for part in LOOKING)


def _looks_on(path: str) -> bool:
    within = os.path.relpath(path, FOLDER) if path.startswith(FOLDER + os.sep) else ""
    return within.split(os.sep)[0] in LOOKING
