"""Notes the names of the shared memory and semaphores that the script makes, which stay when a process is killed."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import real

if TYPE_CHECKING:
    from types import ModuleType

FILE = "shared"  # in the scratch folder


def install(scratch: str) -> None:
    """Patches the modules through which Python makes them, when they are imported."""
    file = os.path.join(scratch, FILE)
    after("_posixshmem", functools.partial(_memory, file))
    after("multiprocessing.synchronize", functools.partial(_semaphores, file))


def _note(file: str, name: str) -> None:
    with real.inside(), real.open_file(file, "ab", buffering=0) as names:
        names.write(f"{name}\n".encode())


def _memory(file: str, module: ModuleType) -> None:
    memory: Any = module
    opened = memory.shm_open

    @functools.wraps(opened)
    def shm_open(path: str, flags: int, mode: int = 0o777) -> Any:
        if flags & os.O_CREAT:
            _note(file, path)
        return opened(path, flags, mode)

    memory.shm_open = shm_open


def _semaphores(file: str, module: ModuleType) -> None:
    locks: Any = module.SemLock
    make = locks._make_name

    def named() -> str:
        name = str(make())
        _note(file, name)
        return name

    locks._make_name = staticmethod(named)
