"""What the agent knows of libraries besides torch: one module for each, which has a `LIBRARY` and may have a stand-in."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from .. import discovery

if TYPE_CHECKING:
    from .library import Library


@functools.cache
def known() -> tuple[Library, ...]:
    """All libraries, found by walking this package."""
    return tuple(module.LIBRARY for module in discovery.modules(sys.modules[__name__]) if hasattr(module, "LIBRARY"))
