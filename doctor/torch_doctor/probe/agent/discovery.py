"""Finds what a package consists of by walking it, so that a new part is a new file and no more."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType


def modules(package: ModuleType) -> Iterator[Any]:
    """The modules of a package and of the packages in it, imported, in the order of their names."""
    for found in sorted(pkgutil.walk_packages(package.__path__, f"{package.__name__}."), key=lambda each: each.name):
        yield importlib.import_module(found.name)


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
