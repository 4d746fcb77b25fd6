"""torchnet: meters and loops."""

from __future__ import annotations

from .library import Library

LIBRARY = Library("torchnet", meters=("add",))
