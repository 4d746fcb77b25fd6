"""The progress display on a terminal: a bar for the scanned files, a line for each running script."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from torch_doctor.cli.streams import is_terminal
from torch_doctor.scan import Follower

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from typing_extensions import Self

    from torch_doctor.scan import Report

PATIENCE = 1.0  # seconds
LONGEST_NAME = 30


class Progress(Follower):
    """Shows the current file if a scan takes more than a second, and the activity of each run; it erases itself.

    `found` is called with the static findings before the scripts run.
    """

    def __init__(self, *, wanted: bool, found: Callable[[Report], None] = lambda _: None) -> None:
        self.listens = wanted and is_terminal(sys.stderr)
        self._start = time.monotonic()
        self._found = found
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._runs: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def reading(self, done: int, total: int, name: str) -> None:
        """Show that `done` of `total` files are done and that `name` is next."""
        if self._bar is None and self.listens and time.monotonic() - self._start > PATIENCE:
            self._bar = _bar()
            self._task = self._bar.add_task("", total=total)
            self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description=_shortened(name))

    def found(self, report: Report) -> None:
        """End the bar of the scan; the scripts run next."""
        self._stop()
        self._found(report)

    def doing(self, script: str, activity: str, left: float) -> None:
        """Show the activity of a running script, and how many seconds it has left."""
        with self._lock:
            if self._bar is None:
                self._bar = _lines()
                self._bar.start()
            if script not in self._runs:
                self._runs[script] = self._bar.add_task("", total=None, left="")
            said = f"{_shortened(script)}: {activity}"
            self._bar.update(self._runs[script], description=said, left=f"{left:.0f} s left")

    def done(self, script: str) -> None:
        """Remove the line of a script."""
        with self._lock:
            task = self._runs.pop(script, None)
            if self._bar is not None and task is not None:
                self._bar.remove_task(task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _shortened(name: str) -> str:
    """Return the end of a long path."""
    return name if len(name) <= LONGEST_NAME else "…/" + "/".join(name.split("/")[-2:])


def _bar() -> Bar:
    from rich.console import Console  # noqa: PLC0415 - only when there is a bar
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    name = TextColumn(
        "{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
    )
    return Progress(MofNCompleteColumn(), BarColumn(), name, console=Console(stderr=True), transient=True, expand=True)


def _lines() -> Bar:
    from rich.console import Console  # noqa: PLC0415 - only when there is something to follow
    from rich.progress import Progress, SpinnerColumn, TextColumn  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    said = TextColumn(
        "{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
    )
    left = TextColumn("{task.fields[left]}", markup=False, table_column=Column(no_wrap=True, justify="right"))
    return Progress(SpinnerColumn(), said, left, console=Console(stderr=True), transient=True, expand=True)
