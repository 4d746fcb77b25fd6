"""An error of the witness: it ends one thing that it does, and no other."""

from __future__ import annotations

from msgspec import Struct


class Failure(Struct, frozen=True):
    """An error of the witness itself, and the name of the file whose run it ended."""

    path: str
    error: Exception
