"""Expensive instruments: each is switched on when a rule needs it, and is told what the watchers see.

A module of this package that is named in the plan's `needs` holds one, a class `Instrument`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watching.watch import Watch

__all__ = ["install"]


def install(watch: Watch) -> None:
    """Has the instruments that the plan needs told of what is watched; a remark for each that there is not."""
    for name in sorted(watch.recorder.needs):
        module: Any = watch.recorder.safely(importlib.import_module, f".{name}", __package__)
        made = watch.recorder.safely(module.Instrument, watch) if module is not None else None
        if made is not None:
            watch.instruments.append(made)
