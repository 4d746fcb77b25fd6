"""Watches torch: what is built, called, cleared, computed, stepped, kept and saved, while the script runs.

Each module of a family's package that has a class `Watcher` watches something, and is found by walking the packages. A
watcher that has to be installed after others names their modules in `installed_after`.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from .. import discovery
from .watch import Watch

if TYPE_CHECKING:
    from types import ModuleType

    from ..loops import Loops
    from ..recorder import Recorder

__all__ = ["install", "watchers"]


def install(torch: ModuleType, recorder: Recorder, loops: Loops) -> Watch:
    """Patches torch, right after its import; returns what watches it."""
    watch = Watch(torch, recorder, loops)
    watch.install(watchers())
    return watch


@functools.cache
def watchers() -> dict[str, Any]:
    """The classes of all watchers by the names of their modules, in the order in which they are installed."""
    found = {
        module.__name__.rpartition(".")[2]: module.Watcher
        for module in discovery.modules(sys.modules[__name__])
        if hasattr(module, "Watcher")
    }
    return discovery.in_order(found, lambda kind: getattr(kind, "installed_after", ()))
