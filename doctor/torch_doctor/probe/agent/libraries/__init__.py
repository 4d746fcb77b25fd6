"""What the agent knows of libraries besides torch: one module for each, with a `LIBRARY`, found by walking this package."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .. import discovery

if TYPE_CHECKING:
    from .library import Library

LIBRARIES: tuple[Library, ...] = tuple(
    module.LIBRARY for module in discovery.modules(sys.modules[__name__]) if hasattr(module, "LIBRARY")
)
