"""A progress bar on a terminal, for work that takes long enough to wonder."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from torch_doctor.cli.streams import is_terminal

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from typing_extensions import Self

PATIENCE = 1.0  # seconds
LONGEST_NAME = 30


class Progress:
    """Shows which file is looked at, once that takes more than a second, and leaves no trace."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and is_terminal(sys.stderr)
        self._start = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int, name: str) -> None:
        """`done` files of `total` are done, and `name` is next."""
        if self._bar is None and self._wanted and time.monotonic() - self._start > PATIENCE:
            self._bar = _bar()
            self._task = self._bar.add_task("", total=total)
            self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description=_shortened(name))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _shortened(name: str) -> str:
    """The end of a path, where it is long: folders that all files share say least."""
    return name if len(name) <= LONGEST_NAME else "…/" + "/".join(name.split("/")[-2:])


def _bar() -> Bar:
    from rich.console import Console  # noqa: PLC0415 - only when there is a bar
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    name = TextColumn(
        "{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
    )
    return Progress(MofNCompleteColumn(), BarColumn(), name, console=Console(stderr=True), transient=True, expand=True)
