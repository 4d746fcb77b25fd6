"""Libraries that tests of the marker `frameworks` need: which are absent, and what that means for a session."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

VARIABLE = "TORCH_DOCTOR_FRAMEWORKS"


def absent(names: Iterable[str]) -> list[str]:
    """Those of the libraries that are not installed."""
    return [name for name in names if find_spec(name) is None]


def required() -> bool:
    """Whether a test whose libraries are absent fails, instead of being skipped."""
    return os.environ.get(VARIABLE, "") == "required"


def told(skipped: int) -> str:
    """What a session says that skipped tests of frameworks."""
    tests = f"{skipped} tests of frameworks were" if skipped > 1 else "1 test of frameworks was"
    return f"{tests} skipped: `.ci/frameworks` installs the frameworks and runs all of them"
