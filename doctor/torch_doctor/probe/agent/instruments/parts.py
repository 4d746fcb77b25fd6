"""The tensors in what a function is given, or gives."""

from __future__ import annotations

from typing import Any

DEEP = 4
MANY = 2_000


def tensors(thing: Any) -> list[Any]:
    """The tensors in a value, in tuples, lists and dictionaries of it, each once."""
    found: dict[int, Any] = {}
    _look(thing, found, DEEP)
    return list(found.values())


def _look(thing: Any, found: dict[int, Any], deep: int) -> None:
    if hasattr(thing, "untyped_storage") and not isinstance(thing, type):
        found[id(thing)] = thing
    elif deep and isinstance(thing, (tuple, list)):
        for each in thing[:MANY]:
            _look(each, found, deep - 1)
    elif deep and isinstance(thing, dict):
        for each in list(thing.values())[:MANY]:
            _look(each, found, deep - 1)
