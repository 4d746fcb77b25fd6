"""What libraries say of themselves: the knowledge files that they ship, found by the entry point `torch_doctor.libraries`."""

from __future__ import annotations

import re
import reprlib
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from torch_doctor.packages import offers
from torch_doctor.static.libraries.library import Library

if TYPE_CHECKING:
    from torch_doctor.packages import Offer

ENTRY_POINT = "torch_doctor.libraries"
"""Its value is `package.module:NAME`, the module's dotted name and what the `Library` in it is called."""


class NoKnowledgeError(Exception):
    """A knowledge file that cannot be used; the message says why."""


@cache
def shipped() -> tuple[tuple[Library, ...], tuple[str, ...]]:
    """The libraries that describe themselves, and a line for each whose knowledge file cannot be used."""
    found: list[Library] = []
    problems: list[str] = []
    for offer in offers(ENTRY_POINT):
        try:
            found.append(_loaded(offer))
        except NoKnowledgeError as error:  # noqa: PERF203 - each is on its own
            problems.append(f"the library descriptions of `{offer.package or offer.module}` are skipped: {error}")
    return tuple(found), tuple(problems)


def _loaded(offer: Offer) -> Library:
    """Execute the file alone: neither its package nor anything else of the library is imported.

    Raises:
        NoKnowledgeError: there is no such file, it raises, or what it has is no knowledge of a library.
    """
    from importlib.util import module_from_spec, spec_from_file_location  # noqa: PLC0415 - most people have none of them

    path = offer.file()
    if path is None:
        message = f"there is no module `{offer.module}`"
        raise NoKnowledgeError(message)
    spec = spec_from_file_location(f"torch_doctor.shipped.{offer.module}", path)
    if spec is None or spec.loader is None:
        message = f"{path} is no Python file"
        raise NoKnowledgeError(message)
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        message = f"{path} cannot be read ({' '.join(f'{type(error).__name__}: {error}'.split())})"
        raise NoKnowledgeError(message) from error
    name = offer.value.partition("[")[0].partition(":")[2].strip() or "LIBRARY"
    library = getattr(module, name, None)
    if not isinstance(library, Library):
        message = f"`{name}` in {path} is no `torch_doctor.knowledge.Library`"
        raise NoKnowledgeError(message)
    for field in library.__struct_fields__:
        value, kind = getattr(library, field), _types()[field]
        if not _fits(value, kind):
            message = f"`{field}` in {path} is {reprlib.repr(value)}, and no {_words(kind)}"
            raise NoKnowledgeError(message)
    return library


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type that a field of a library has."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(each, inner[0]) and _fits(value[each], inner[1]) for each in value
        )
    if origin is tuple and inner[1:] == (...,):
        return isinstance(value, tuple) and all(_fits(each, inner[0]) for each in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(_fits, value, inner))
    if origin is typing.Literal:
        return value in inner
    if origin is Callable:
        return callable(value)
    return any(_fits(value, each) for each in inner) if inner else isinstance(value, kind)


def _words(kind: Any) -> str:
    """A type as people write it."""
    return re.sub(r"\b(?:collections\.abc|typing|torch_doctor)(?:\.\w+)*\.(?=\w)", "", str(kind))


@cache
def _types() -> dict[str, Any]:
    """The type of each field of a library."""
    from torch_doctor.static.tables.framework import Framework  # noqa: PLC0415 - only to read annotations
    from torch_doctor.static.tables.function import Function  # noqa: PLC0415 - as above
    from torch_doctor.static.tables.loss import Loss  # noqa: PLC0415 - as above
    from torch_doctor.trace.words import Kind, Tri  # noqa: PLC0415 - as above

    names = {each.__name__: each for each in (Framework, Function, Loss, Kind)}
    return get_type_hints(Library, localns={**names, "Tri": Tri})
