"""Finds the names under which other modules hold a function of the standard library, and gives them its replacement."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# What imports run on: they read what is on the disk.
UNTOUCHED = frozenset(
    {"posix", "nt", "_io", "_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap", "zipimport"}
)
# Modules whose classes hold such functions (`_NormalAccessor.mkdir` in Python 3.10, `_StringGlobber.scandir` in 3.13).
WITH_CLASSES = ("pathlib", "pathlib._local", "pathlib._abc", "pathlib._os", "pathlib.types", "glob", "tempfile")


def replace(pairs: Iterable[tuple[Any, Callable[..., Any]]], keep: str) -> None:
    """Replaces the first of each pair by the second wherever a loaded module outside the package `keep` names it."""
    known = {id(original): replacement for original, replacement in pairs}
    for name, module, attributes in loaded():
        if name in UNTOUCHED or name == keep or name.startswith(keep + "."):
            continue
        namespace = vars(module)
        for attribute in attributes:
            replacement = known.get(id(namespace.get(attribute)))
            if replacement is not None:
                namespace[attribute] = replacement
    _in_classes(known)


@contextlib.contextmanager
def followed() -> Iterator[None]:
    """What replaces a function of `os` or `io` while this lasts replaces it in the classes that hold it, too."""
    held = [(module, name, value) for module in (os, io) for name, value in vars(module).items() if callable(value)]
    yield
    _in_classes({id(value): new for module, name, value in held if (new := getattr(module, name)) is not value})


def _in_classes(known: dict[int, Callable[..., Any]]) -> None:
    if sys.version_info < (3, 11):  # without accessors: https://github.com/python/cpython/pull/25701
        importlib.import_module("pathlib")  # later its class would make methods of the replacements
    for name in WITH_CLASSES:
        for value in list(vars(sys.modules.get(name, object)).values()):
            if isinstance(value, type) and value.__module__ == name:
                _in_class(value, known)


def loaded() -> list[tuple[str, Any, list[str]]]:
    """The modules that may name such a function, and the names under which they may."""
    namespaces = [(name, module, getattr(module, "__dict__", None)) for name, module in list(sys.modules.items())]
    return [(name, module, list(found)) for name, module, found in namespaces if isinstance(found, dict)]


def _in_class(cls: type, known: dict[int, Callable[..., Any]]) -> None:
    for attribute, value in list(vars(cls).items()):
        plain = value.__func__ if isinstance(value, staticmethod) else value
        if id(plain) in known:
            setattr(cls, attribute, staticmethod(known[id(plain)]))
