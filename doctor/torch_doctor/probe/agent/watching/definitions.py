"""Where the project's classes are defined."""

from __future__ import annotations

import dis
import inspect
import re
import types
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..recorder import Recorder

ALIKE = re.compile(r"_+(?:init|inti|int)_+")
"""What `__init__` is misspelt as."""
NEAR = 0.85
"""How like `forward` a name has to be."""


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


def misspelt_method(cls: type, recorder: Recorder) -> tuple[str, str, int | None]:
    """The name of the method that a project's class means as its `__init__` or `forward`, the latter, and the method's place.

    A constructor sets attributes of its object, a forward is there where the class has none; the file calls neither but by
    `super()`. The name is "" where nothing is misspelt.
    """
    wants_forward = getattr(getattr(cls, "forward", None), "__name__", "") == "_forward_unimplemented"
    wants_init = True
    for each in cls.__mro__:
        wants_init = wants_init and "__init__" not in vars(each)
        for code in codes(each):
            name = code.co_name
            init, forward = wants_init and ALIKE.fullmatch(name), wants_forward and _like_forward(name)
            file = recorder.index.file(code.co_filename) if init or forward else None
            if file is None or not _meant(code, file.text, init=bool(init)):
                continue
            span = file.functions.get((code.co_firstlineno, name))
            return name, "__init__" if init else "forward", recorder.sites.number(span) if span is not None else None
    return "", "", None


def _like_forward(name: str) -> bool:
    bare = name.strip("_").lower()
    return bare == "forward" or ("forward" not in bare and SequenceMatcher(None, bare, "forward").ratio() >= NEAR)


def _meant(code: Any, text: str, *, init: bool) -> bool:
    """Whether a method does what the one does that it may be meant as, and nobody calls it by its name."""
    if init:
        called = re.search(rf"(?<!super\(\))(?<!self\))\.{code.co_name}\b", text)
        return called is None and any(step.opname == "STORE_ATTR" for step in dis.get_instructions(code))
    return code.co_argcount > 1 and re.search(rf"(?<!def )(?<!super\(\)\.)\b{code.co_name}\b", text) is None


def codes(cls: type) -> Iterator[Any]:
    """The code of the functions that a class itself defines."""
    for value in vars(cls).values():
        code = code_of(value)
        if code is not None:
            yield code


def code_of(value: Any) -> Any:
    """The code of a function as it was written, where a decorator or a stand-in wraps it; None where it is none."""
    return getattr(inspect.unwrap(value) if isinstance(value, types.FunctionType) else value, "__code__", None)
