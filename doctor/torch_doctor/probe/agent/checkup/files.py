"""Files that loaders read: whether some of validation have the contents of some that are trained on, whatever transforms do."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from .telling import count

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALLEST, LARGEST = 256, 32_000_000  # bytes of a file that is compared: smaller ones may be alike by chance
SECONDS = 3.0  # for reading all files of one set
TWICE = 2  # files with the same contents: where there are more, such as empty masks, it is no wonder


class OpenedFiles:
    """Hears which files are opened to be read, while `files` is a dictionary; its keys are paths in their order."""

    def __init__(self) -> None:
        self.files: dict[str, None] | None = None
        self._there = False

    def listen(self) -> None:
        """Begin; a hook cannot be taken away, so one stays."""
        self.files = {}
        if not self._there:
            self._there = True
            sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self.files is not None:
            path, mode, flags = arguments
            reads = not set(mode or "") & set("wax+") and not (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if reads and isinstance(path, (str, bytes)):
                self.files[os.fsdecode(path)] = None


LISTENER = OpenedFiles()


@contextmanager
def opened() -> Iterator[list[str]]:
    """Collects the files that are opened to be read meanwhile, in the list that it gives, when it is over."""
    found: list[str] = []
    LISTENER.listen()
    try:
        yield found
    finally:
        found += LISTENER.files or {}
        LISTENER.files = None


def copies(training: tuple[str, list[str]], other: tuple[str, list[str]]) -> list[str]:
    """Return a sentence where the second set reads copies of files that the first one reads: each is its name and its files.

    A file that both read is no copy: it may hold the samples of both.
    """
    if not training[1] or not other[1]:
        return []
    own, theirs = _contents(training[1]), _contents(other[1])
    many = Counter([*own.values(), *(each for path, each in theirs.items() if path not in own)])
    by_content = {content: path for path, content in own.items()}
    found = [
        (path, by_content[content])
        for path, content in theirs.items()
        if path not in own and content in by_content and many[content] == TWICE
    ]
    if not found:
        return []
    path, like = (os.path.relpath(each) for each in found[0])
    what = f"{count(len(found), 'file')} of {other[0]} {'is a copy' if len(found) == 1 else 'are copies'}"
    return [f"{what} of files of {training[0]}, such as `{path}` of `{like}`"]


def _contents(paths: list[str]) -> dict[str, str]:
    """The hash of each file, as far as there is time."""
    found: dict[str, str] = {}
    until = monotonic() + SECONDS
    for path in paths:
        try:
            if SMALLEST <= os.path.getsize(path) <= LARGEST and os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.realpath(path)] = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            continue
        if monotonic() > until:
            break
    return found
