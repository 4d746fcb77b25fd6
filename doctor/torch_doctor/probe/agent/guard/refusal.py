"""What the guard refuses, and how it says so: an `OSError` for the script, one line for the report."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_TOLD = 50


class RefusedError(PermissionError):
    """The probe does not let the script do this; `strerror` says what and why."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EPERM, f"blocked by torch-doctor's probe: {what}")


class Refusals:
    """Tells each refusal once, and makes the exception for it."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def refuse(self, what: str) -> RefusedError:
        """Returns the exception to raise; `what` reads after "refused": `a connection to example.org`."""
        self.note(what)
        return RefusedError(what)

    def note(self, what: str) -> None:
        """Tells that `what` was refused where the script is not given an exception."""
        if what not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(what)
            self._tell("refused", what=what)
