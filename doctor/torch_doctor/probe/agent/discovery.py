"""Finds what a package consists of by walking it, so that a new part is a new file and no more."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def names(package: ModuleType) -> list[str]:
    """The names of the modules of a package and of the packages in it, in order; of these, only packages are imported."""
    return sorted(each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))


@functools.cache
def modules(package: ModuleType) -> tuple[Any, ...]:
    """The modules of a package and of the packages in it, imported, in the order of their names."""
    return tuple(map(importlib.import_module, names(package)))


def in_order(parts: dict[str, Any], after: Callable[[Any], tuple[str, ...]]) -> dict[str, Any]:
    """The parts by their names, each behind those that `after` names of it."""
    ordered: dict[str, Any] = {}

    def put(name: str) -> None:
        if name not in ordered:
            for earlier in after(parts[name]):
                put(earlier)
            ordered[name] = parts[name]

    for name in parts:
        put(name)
    return ordered
