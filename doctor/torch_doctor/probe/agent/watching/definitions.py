"""Where the project's classes are defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..recorder import Recorder


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
        code = getattr(vars(each).get("__init__"), "__code__", None)
        if code is not None and recorder.sites.is_users(code.co_filename):
            file = recorder.index.file(code.co_filename)
            span = file.functions.get((code.co_firstlineno, "__init__")) if file is not None else None
            return recorder.sites.number(span) if span is not None else None
    return None


def codes(cls: type) -> Iterator[Any]:
    """The code of the functions that a class itself defines."""
    for value in vars(cls).values():
        code = getattr(value, "__code__", None)
        if code is not None:
            yield code
