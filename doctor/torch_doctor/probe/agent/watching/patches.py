"""Replaces functions of torch by ones that are watched, and puts them back for code that reads them."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MISSING = object()


class Patches:
    """What was replaced, in order."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Puts `make(original)` in the place of `owner.name`; nothing where there is none."""
        original = getattr(owner, name, None)
        if original is None:
            return
        own = vars(owner).get(name, MISSING)
        made = make(original)
        if not isinstance(made, type):  # a class looks like the other by itself
            functools.update_wrapper(made, original)
        setattr(owner, name, made)
        self._done.append((owner, name, own, made))

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Everything as it was, for a while: for compilers that read the functions that are called."""
        for owner, name, own, _ in reversed(self._done):
            if own is MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        try:
            yield
        finally:
            for owner, name, _, made in self._done:
                setattr(owner, name, made)
