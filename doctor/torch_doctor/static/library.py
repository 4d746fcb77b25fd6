"""Calls of libraries: modules register what they model, and a call by its canonical name finds all that know it.

A handler gets the name and the call, and returns what the call returns, or None where it leaves that to those after it.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from torch_doctor.static import dispatch

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

Handler: TypeAlias = "Callable[[Run, str, Call], Value | None]"
H = TypeVar("H", bound="Handler")


class Stage(IntEnum):
    """When a handler has its turn. Handlers of one stage know different names, but for `NOTE` and `ANY`."""

    NOTE = 0
    """It notes what the call does, and leaves the result to others."""
    NAME = 1
    """It models one function or class, or a few."""
    TABLE = 2
    """It models all names of a table."""
    ADAPTER = 3
    """What the call is given decides what it returns."""
    ANY = 4
    """It knows what calls of any name do with what they are given."""
    PACKAGE = 5
    """It tells for a whole package what its calls leave alone."""
    REST = 6
    """It tells the same for all packages."""


_HANDLERS: list[tuple[tuple[Stage, str, int], Callable[[str], object], Handler]] = []


def library(*names: str, stage: Stage = Stage.NAME) -> Callable[[H], H]:
    """Register a handler of calls of these canonical names."""
    return library_family(frozenset(names), stage=stage)


def library_family(family: Container[str] | Callable[[str], object], *, stage: Stage = Stage.TABLE) -> Callable[[H], H]:
    """Register a handler of calls of all names in a table, or of those of which a function says so."""

    def register(handler: H) -> H:
        belongs = family if callable(family) else family.__contains__
        place = handler.__code__.co_firstlineno
        _HANDLERS.append(((stage, handler.__module__, place), belongs, handler))
        return handler

    return register


def called(run: Run, name: str, call: Call) -> Value | None:
    """Call something of a library; None where nothing is known of it."""
    for _, handler in handlers_of(name):
        result = handler(run, name, call)
        if result is not None:
            return result
    return None


def inherited(run: Run, bases: Iterable[str], method: str, call: Call) -> Value | None:
    """Call a method that a class of the project has from one of these classes of libraries; None where nobody models it by name."""
    for base in bases:
        for stage, handler in handlers_of(f"{base}.{method}"):
            result = handler(run, f"{base}.{method}", call) if stage is Stage.NAME else None
            if result is not None:
                return result
    return None


@cache
def handlers_of(name: str) -> tuple[tuple[Stage, Handler], ...]:
    """The handlers that know a canonical name, in the order in which they are asked."""
    return tuple((place[0], handler) for place, belongs, handler in _registered() if belongs(name))


@cache
def _registered() -> list[tuple[tuple[Stage, str, int], Callable[[str], object], Handler]]:
    dispatch.load()
    return sorted(_HANDLERS, key=itemgetter(0))
