"""`scan --watch`: scans again whenever a file changes."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from torch_doctor.cli.streams import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from watchfiles import Change

WATCHED = (".py", ".ipynb", ".toml", ".txt", ".lock", ".gitignore")
INTERRUPTED = 130
WAITING = 100  # milliseconds until somebody looks whether Ctrl-C was pressed


def watch(scan: Callable[[], int], paths: Sequence[str], *, quiet: bool) -> int:
    """Scan now and after each change below the paths, until Ctrl-C; return the exit status.

    An invalid command ends at once. A later error, such as in a configuration that is being edited, is printed, and
    the next change tries again.

    Raises:
        UsageError: watchfiles is not installed, a path is not there, or source is read from stdin.
    """
    if find_spec("watchfiles") is None:
        message = "--watch needs watchfiles: run `pip install 'torch-doctor[watch]'`"
        raise click.UsageError(message)
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110 - never raises
            message = "--watch cannot be used with stdin" if path == "-" else f"--watch {path}: it does not exist"
            raise click.UsageError(message)
    try:
        for first in _changes(paths):
            if is_terminal(sys.stdout):
                click.clear()
            if not _scanned(scan, first=first):
                break
            if not quiet:
                click.echo("Watching for changes. Press Ctrl-C to stop.", err=True)
    except KeyboardInterrupt:
        pass
    return INTERRUPTED


def _changes(paths: Sequence[str]) -> Iterator[bool]:
    """Yield True at first, then False for each group of changes; changes during a scan are in the next group."""
    from watchfiles import DefaultFilter, watch  # noqa: PLC0415 - only where it is installed

    absolute = [os.path.abspath(path) for path in paths]  # noqa: PTH100 - links stay as they are
    folders = [path for path in absolute if os.path.isdir(path)]  # noqa: PTH112 - as given
    files = frozenset(absolute) - frozenset(folders)

    class Filter(DefaultFilter):
        """Accepts source and settings outside of git, caches and environments; in other folders, only the given files."""

        def __call__(self, change: Change, path: str) -> bool:
            if path in files:
                return True
            inside = any(path.startswith(os.path.join(folder, "")) for folder in folders)  # noqa: PTH118 - as above
            return inside and path.endswith(WATCHED) and super().__call__(change, path)

    # A file that an editor replaces is another file: what is watched is the folder that holds it.
    watched = dict.fromkeys((*folders, *map(os.path.dirname, files)))
    first = True
    for changes in watch(
        *watched, watch_filter=Filter(), rust_timeout=WAITING, yield_on_timeout=True, recursive=bool(folders)
    ):
        if first or changes:
            yield first
        first = False


def _scanned(scan: Callable[[], int], *, first: bool) -> bool:
    """Scan once, and return whether to continue."""
    try:
        return scan() != INTERRUPTED
    except click.ClickException as error:
        if first:
            raise
        click.echo(f"error: {error.format_message()}", err=True)
        return True
