"""Expensive instruments: each is switched on when a rule needs it, and is told what the watchers see.

A module of this package that is named in the plan's `needs` holds one, a class `Instrument`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .instrument import Instrument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..watching.watch import Watch

__all__ = ["Instrument", "wanted"]


def wanted(names: Iterable[str], watch: Watch) -> list[Instrument]:
    """The instruments of these names, those that there are; a remark for each that there is not."""
    found: list[Instrument] = []
    for name in sorted(names):
        module: Any = watch.recorder.safely(importlib.import_module, f".{name}", __package__)
        made = watch.recorder.safely(module.Instrument, watch) if module is not None else None
        if made is not None:
            found.append(made)
    return found
