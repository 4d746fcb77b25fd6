"""livelossplot: plots of a training that runs."""

from __future__ import annotations

from .library import Library

LIBRARY = Library("livelossplot", meters=("update",))
