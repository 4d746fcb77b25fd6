"""pkbar: progress bars as Keras has them."""

from __future__ import annotations

from .library import Library

LIBRARY = Library("pkbar", meters=("update", "add"))
