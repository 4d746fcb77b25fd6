"""What is known of libraries besides torch: one module for each, or for a few small ones of a sort, with a `LIBRARY`.

The tables of `static/tables` are filled from them; what torch itself has stands in the tables.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from torch_doctor.packages import modules
from torch_doctor.static.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from torch_doctor.static.libraries.library import Library

T = TypeVar("T")


@cache
def known() -> tuple[Library, ...]:
    """All libraries: those of this package, found by walking it, then those that describe themselves."""
    found = map(import_module, modules(__name__))
    return (*(module.LIBRARY for module in found if hasattr(module, "LIBRARY")), *shipped()[0])


def every(of: Callable[[Library], Iterable[T]]) -> tuple[T, ...]:
    """Return what all libraries have under an attribute that lists things."""
    return tuple(item for library in known() for item in of(library))


def table(of: Callable[[Library], Mapping[str, T]]) -> dict[str, T]:
    """Return what all libraries have under an attribute that maps names."""
    return {name: item for library in known() for name, item in of(library).items()}
