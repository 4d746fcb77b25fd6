"""Expensive instruments: each is switched on when a rule needs it, and is told what the watchers see.

A module of a family's package that is named in the plan's `needs` holds one, a class `Instrument`.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .. import discovery

if TYPE_CHECKING:
    from ..watching.watch import Watch

__all__ = ["install"]


def install(watch: Watch) -> None:
    """Has the instruments that the plan needs told of what is watched; a remark for each that there is not."""
    # a module that is called like its family comes behind it, and counts
    homes = {name.rpartition(".")[2]: name for name in discovery.names(sys.modules[__name__])}
    for need in sorted(watch.recorder.needs):
        home = homes.get(need, f"{__name__}.{need}")
        module: Any = watch.recorder.safely(importlib.import_module, home)
        made = watch.recorder.safely(module.Instrument, watch) if module is not None else None
        if made is not None:
            watch.instruments.append(made)
