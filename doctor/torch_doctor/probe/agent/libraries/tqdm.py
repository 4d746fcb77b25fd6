"""tqdm: progress bars."""

from __future__ import annotations

from .library import Library

LIBRARY = Library("tqdm", logs=("set_postfix",))
