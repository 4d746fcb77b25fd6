"""The lessons of earlier probes: kept in the cache, for as long as the script and what lies beside it stay as they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torch_doctor.cache import Storage, digest, of_code

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.probe.plan import Request

MOST = 500  # files beside the script that are looked at


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
    """What stands for the script, its arguments, the files beside it, and the code that runs it."""
    parts = [str(request.script), *request.args, request.text or "", *_beside(request.script.parent)]
    return "lessons " + digest(of_code(frozenset()) + "\0".join(parts).encode("utf-8", "surrogatepass")).hex()


def _beside(folder: Path) -> list[str]:
    """The source files in a folder and the folders in it, with their sizes and the times at which they were written."""
    found: list[str] = []
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if name.endswith(".py"):
                seen = os.stat(os.path.join(top, name))  # noqa: PTH116, PTH118 - there may be many
                found.append(f"{top}/{name} {seen.st_mtime_ns} {seen.st_size}")
        if len(found) > MOST:
            break
    return found
