"""The paths that the script deleted, which the disk still has; in a run of several processes, those of all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from . import real

if TYPE_CHECKING:
    from collections.abc import Iterator


class Deleted:
    """A set of paths; with a `file`, every process that names it has the same set."""

    def __init__(self, file: str = "") -> None:
        self._file = file
        self._paths: set[str] = set()
        self._read = 0

    def add(self, path: str) -> None:
        """Takes in one more."""
        self._paths.add(path)
        if self._file:
            line = (json.dumps(path) + "\n").encode()
            with real.inside(), real.open_file(self._file, "ab", buffering=0) as file:
                # One write with O_APPEND is whole, whoever else writes: https://man7.org/linux/man-pages/man2/write.2.html
                file.write(line)

    def __contains__(self, path: str) -> bool:
        return path in self._known()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._known()))

    def __bool__(self) -> bool:
        return bool(self._known())

    def _known(self) -> set[str]:
        if not self._file:
            return self._paths
        try:
            size = real.functions["stat"](self._file).st_size
        except FileNotFoundError:
            return self._paths
        if size > self._read:
            with real.inside(), real.open_file(self._file, "rb") as file:
                file.seek(self._read)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read += len(whole)
            self._paths.update(json.loads(line) for line in whole.splitlines())
        return self._paths
