"""The functions of the standard library as they are before the guard replaces them."""

from __future__ import annotations

import builtins
import contextlib
import os
import shutil
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

open_file = builtins.open
functions: dict[str, Any] = {name: value for name, value in vars(os).items() if callable(value)}
copy_file = shutil.copyfile
remove_tree = shutil.rmtree
set_signal, get_signal = signal.signal, signal.getsignal
send_signal: Any = getattr(signal, "pidfd_send_signal", None)

MEMORY = ("/memfd:", "/dev/shm/")  # noqa: S108 - what the system says of descriptors of shared memory
_state = threading.local()


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    """What `os.<name>` does without the guard."""
    with inside():
        return functions[name](*arguments, **keywords)


def lexists(path: str) -> bool:
    """Whether the disk has something at `path`, be it a link that leads nowhere."""
    try:
        functions["lstat"](path)
    except (OSError, ValueError):
        return False
    return True


def path_of(descriptor: int) -> str:
    """The path of what a descriptor is of; empty where it has none (shared memory has none), or the system does not tell."""
    try:
        path = str(call("readlink", f"/proc/self/fd/{descriptor}"))
    except OSError:
        return ""
    return path if path.startswith("/") and not path.startswith(MEMORY) else ""


@contextlib.contextmanager
def inside() -> Iterator[None]:
    """While it lasts, what this thread does is the guard's own doing, and neither redirected nor audited."""
    _state.depth = getattr(_state, "depth", 0) + 1
    try:
        yield
    finally:
        _state.depth -= 1


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """While it lasts, what this thread does is the script's doing, though the guard called it."""
    depth, _state.depth = getattr(_state, "depth", 0), 0
    try:
        yield
    finally:
        _state.depth = depth


def is_inside() -> bool:
    """Whether the guard itself is at work in this thread."""
    return getattr(_state, "depth", 0) > 0
