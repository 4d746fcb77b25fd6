"""Keeps the descriptors through which the probe tells what it sees out of the script's hands."""

from __future__ import annotations

import errno
import functools
import os
from typing import TYPE_CHECKING, Any

from . import real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Descriptors:
    """Who closes all that is open, or makes something else of it, passes over those that are `kept`."""

    def __init__(self, kept: Iterable[int]) -> None:
        self._kept = frozenset(kept)

    def install(self) -> list[tuple[Any, Callable[..., Any]]]:
        """Replaces the functions in `os`, and returns (original, replacement) for those who hold them elsewhere."""
        made: dict[str, Callable[..., Any]] = {
            "close": self._close,
            "closerange": self._close_range,
            "dup2": self._dup2,
        }
        pairs: list[tuple[Any, Callable[..., Any]]] = []
        for name, replacement in made.items():
            plain = functools.wraps(real.functions[name])(functools.partial(replacement))  # no method of who holds it
            setattr(os, name, plain)
            pairs.append((real.functions[name], plain))
        return pairs

    def _close(self, fd: int) -> None:
        if fd in self._kept:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real.functions["close"](fd)

    def _close_range(self, fd_low: int, fd_high: int, /) -> None:
        for kept in sorted(self._kept):
            if fd_low <= kept < fd_high:
                real.functions["closerange"](fd_low, kept)
                fd_low = kept + 1
        real.functions["closerange"](fd_low, fd_high)

    def _dup2(self, fd: int, fd2: int, inheritable: bool = True) -> int:  # noqa: FBT001, FBT002 - as in `os`
        return fd2 if fd2 in self._kept else int(real.functions["dup2"](fd, fd2, inheritable))
