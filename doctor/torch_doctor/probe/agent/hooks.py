"""The functions that rewritten code calls: `builtins` has them, under names that no user's code has."""

from __future__ import annotations

import builtins
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .loops import Loops

PREFIX, SUFFIX = "__torch_doctor_", "__"
PASSING = ("keep", "held", "alias", "made", "flag", "named", "dropped", "direct", "logs", "read")
"""The hooks that give back what they are given."""


def name_of(hook: str) -> str:
    """The name under which rewritten code calls a hook."""
    return f"{PREFIX}{hook}{SUFFIX}"


def put(hook: str, function: Callable[..., Any]) -> None:
    """Has rewritten code call `function` for a hook."""
    setattr(builtins, name_of(hook), function)


def install(loops: Loops) -> None:
    """Puts the hooks of loops in place, and others that do nothing until torch is there and is watched."""
    for hook, function in (
        ("for", loops.watch_for),
        ("async_for", loops.watch_async),
        ("begin", loops.begin),
        ("more", loops.more),
    ):
        put(hook, function)
    for hook in PASSING:
        put(hook, lambda _, value: value)
    put("adds", lambda _, value, __: value)
    put("after", lambda *_: None)
    put("touched", lambda _: None)
    put("first", lambda value: value[0])
    put("failure", Exception)
    put("goes_on", lambda: False)
    put("instead", lambda _: None)
    held: dict[int, Any] = {}
    put("hold", lambda value: held.__setitem__(id(sys._getframe(1)), value))
    put("take", lambda: held.pop(id(sys._getframe(1))))


@contextmanager
def silent() -> Iterator[None]:
    """The hooks do nothing for a while: a compiler that reads the script's functions follows them."""
    before = {
        name: getattr(builtins, name) for name in map(name_of, (*PASSING, "after", "touched", "for", "begin", "more"))
    }
    for hook in PASSING:
        put(hook, lambda _, value: value)
    put("after", lambda *_: None)
    put("touched", lambda _: None)
    put("for", lambda _, iterable: iterable)
    put("begin", lambda _: None)
    put("more", lambda _: True)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(builtins, name, function)
