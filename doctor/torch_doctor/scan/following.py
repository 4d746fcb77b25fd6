"""What those who wait for a scan hear of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_doctor.scan.options import Report


class Follower:
    """Hears how a scan goes on, and its runs; this one tells nobody.

    `listens` says whether anybody wants to know what runs are doing.
    """

    listens = False

    def reading(self, done: int, total: int, name: str) -> None:
        """So many files of `total` are done, and `name` is next."""

    def found(self, report: Report) -> None:
        """Everything is read, and what follows are the runs of scripts: this is what the source says."""

    def doing(self, script: str, activity: str, left: float) -> None:
        """The run of a script is at something, and may take so many seconds more; said again and again, by any thread."""

    def done(self, script: str) -> None:
        """The run of a script is over."""
