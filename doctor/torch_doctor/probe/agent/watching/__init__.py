"""Watches torch: what is built, called, cleared, computed, stepped, kept and saved, while the script runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .watch import Watch

if TYPE_CHECKING:
    from types import ModuleType

    from ..loops import Loops
    from ..recorder import Recorder

__all__ = ["install"]


def install(torch: ModuleType, recorder: Recorder, loops: Loops) -> Watch:
    """Patches torch, right after its import; returns what watches it."""
    watch = Watch(torch, recorder, loops)
    watch.install()
    return watch
