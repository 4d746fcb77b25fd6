"""The lessons of earlier probes: kept in the cache, for as long as the script and what lies beside it stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.cache import Storage, digest, of_code

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.probe.plan import Request


class KeptLessons:
    """What is kept of the lessons of scripts, in the cache of a folder."""

    def __init__(self, folder: Path) -> None:
        self._storage = Storage(folder)

    def get(self, request: Request) -> bytes:
        """The lessons of the last probe of a script."""
        return self._storage.get(_key(request)) or b"[]"

    def put(self, request: Request, lessons: bytes) -> None:
        """Keep those of this one."""
        self._storage.put({_key(request): lessons})


def _key(request: Request) -> str:
    """What stands for the script, its arguments, the files that the source reads, and the code that runs it."""
    parts = [str(request.script), *request.args, request.text or "", *map(_stamp, (request.script, *request.files))]
    return "lessons " + digest(of_code(frozenset()) + "\0".join(parts).encode("utf-8", "surrogatepass")).hex()


def _stamp(file: Path) -> str:
    """A file with its size and the time at which it was written."""
    try:
        seen = file.stat()
    except OSError:
        return str(file)
    return f"{file} {seen.st_mtime_ns} {seen.st_size}"
