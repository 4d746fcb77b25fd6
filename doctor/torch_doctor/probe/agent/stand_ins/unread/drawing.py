"""Statements that fail in a package that draws or prints: what they would show is not needed for a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..absent import IDLE
from ..source import INSTALLED

if TYPE_CHECKING:
    from types import TracebackType

SHOWING = frozenset(name for name, what in IDLE.items() if what in ("plotting", "console output"))


def draws(error: Exception) -> str:
    """The package that draws or prints in which something failed, or which lacks what was asked of it; else empty.

    A file that is not there may hold anything.
    """
    if isinstance(error, FileNotFoundError):
        return ""
    lacking = getattr(error, "obj", None) if isinstance(error, AttributeError) else None
    owner = getattr(lacking, "__name__", "") if type(lacking).__name__ == "module" else type(lacking).__module__
    top = str(owner).partition(".")[0]
    return top if top in SHOWING else _of(error.__traceback__)


def _of(trace: TracebackType | None) -> str:
    """The package whose code raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    parts = trace.tb_frame.f_code.co_filename.replace("\\", "/").split("/") if trace is not None else []
    behind = [parts[place + 1] for place, part in enumerate(parts[:-1]) if part in INSTALLED]
    return behind[-1] if behind and behind[-1] in SHOWING else ""
