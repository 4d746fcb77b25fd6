"""The functions that rewritten code calls: `builtins` has them, under names that no user's code has."""

from __future__ import annotations

import builtins
import functools
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .loops import Loops

PREFIX, SUFFIX = "__torch_doctor_", "__"
PASSING = (
    "keep",
    "held",
    "alias",
    "bound",
    "made",
    "flag",
    "named",
    "dropped",
    "direct",
    "logs",
    "read",
    "figure",
    "reports",
    "judged",
)
"""The hooks that give back what they are given."""


def name_of(hook: str) -> str:
    """The name under which rewritten code calls a hook."""
    return f"{PREFIX}{hook}{SUFFIX}"


class Hook(functools.partial):  # type: ignore[type-arg]
    """What rewritten code calls, without a frame of its own.

    It is pickled by its name: who writes a function of the script by value (dill does) writes what its code calls, too.
    """

    def __reduce__(self) -> Any:
        return vars(self)["hook"]


def put(hook: str, function: Callable[..., Any] | tuple[type[BaseException], ...]) -> None:
    """Has rewritten code call `function`, or catch this class of exceptions or these, for a hook."""
    called: Any = function
    if not isinstance(function, (type, tuple)):
        called = Hook(function)
        vars(called).update(hook=name_of(hook), __module__=builtins.__name__)
    setattr(builtins, name_of(hook), called)


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
    put("shaped", lambda *_: None)
    put("unread", lambda *_: None)
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
    before = {name: getattr(builtins, name) for name in vars(builtins) if name.startswith(PREFIX)}
    nothing: dict[str, Callable[..., Any]] = {
        **dict.fromkeys(PASSING, lambda _, value: value),
        "after": lambda *_: None,
        "touched": lambda _: None,
        "shaped": lambda *_: None,
        "unread": lambda *_: None,
        "for": lambda _, iterable: iterable,
        "begin": lambda _: None,
        "more": lambda _: True,
    }
    plain = {name: getattr(function, "func", function) for name, function in before.items()}  # a compiler reads those
    for name, function in {**plain, **{name_of(hook): nothing[hook] for hook in nothing}}.items():
        setattr(builtins, name, function)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(builtins, name, function)
