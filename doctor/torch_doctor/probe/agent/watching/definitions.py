"""Where the project's classes are defined."""

from __future__ import annotations

import dis
import inspect
import re
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..recorder import Recorder

ALIKE = re.compile(r"_+(?:init|inti|int)_+")
"""What `__init__` is misspelt as."""


def class_site(cls: type, recorder: Recorder) -> int | None:
    """The place of a project's class."""
    for code in codes(cls):
        file = recorder.index.file(code.co_filename)
        for span in file.classes.get(cls.__name__, ()) if file is not None else ():
            if span.row <= code.co_firstlineno <= span.end_row:
                return recorder.sites.number(span)
    return None


def init_site(cls: type, recorder: Recorder) -> int | None:
    """The place of the `def __init__` of a project's class, or of the project's class that it inherits it from."""
    for each in cls.__mro__:
        code = code_of(vars(each).get("__init__"))
        if code is not None and recorder.sites.is_users(code.co_filename):
            file = recorder.index.file(code.co_filename)
            span = file.functions.get((code.co_firstlineno, "__init__")) if file is not None else None
            return recorder.sites.number(span) if span is not None else None
    return None


def broken_init(cls: type, recorder: Recorder) -> tuple[int | None, str]:
    """The place and class of the constructor that should have called the one of its base, of a module that has no registries.

    That is the first, from the heir to its bases, that calls no `__init__` at all; else the last one.
    """
    found: type | None = None
    for each in cls.__mro__:
        code = code_of(vars(each).get("__init__"))
        if code is not None and recorder.sites.is_users(code.co_filename):
            found = each
            if "__init__" not in code.co_names:
                break
    return (None, "") if found is None else (init_site(found, recorder), found.__name__)


def misspelt_init(cls: type, recorder: Recorder) -> tuple[str, int | None]:
    """The name and place of the method that a project's class means as its `__init__`, where that is misspelt.

    Such a method sets attributes of its object, and its file names it nowhere else but by `super()`.
    """
    for each in cls.__mro__:
        if "__init__" in vars(each):
            break
        for code in codes(each):
            name = code.co_name
            file = recorder.index.file(code.co_filename) if ALIKE.fullmatch(name) else None
            if file is not None and not re.search(rf"(?<!super\(\))(?<!self\))\.{name}\b", file.text):
                span = file.functions.get((code.co_firstlineno, name))
                if any(step.opname == "STORE_ATTR" for step in dis.get_instructions(code)):
                    return name, recorder.sites.number(span) if span is not None else None
    return "", None


def codes(cls: type) -> Iterator[Any]:
    """The code of the functions that a class itself defines."""
    for value in vars(cls).values():
        code = code_of(value)
        if code is not None:
            yield code


def code_of(value: Any) -> Any:
    """The code of a function as it was written, where a decorator or a stand-in wraps it; None where it is none."""
    return getattr(inspect.unwrap(value) if isinstance(value, types.FunctionType) else value, "__code__", None)
