"""From values of JSON to the fields of events, as the types of the fields say."""

from __future__ import annotations

import enum
import functools
import types
import typing
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from torch_doctor import trace as t

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Sites = Mapping[int, t.Site]
    Decode = Callable[[Any, Sites], Any]

COMMON = frozenset(("site", "scope", "guards", "index"))  # of every event; the protocol has words of its own for them


def decoded(kind: type[Struct], record: Mapping[str, Any], sites: Sites) -> dict[str, Any]:
    """The fields of an event, or a part of one, that a record has.

    A place is a number in the record, a word of a closed vocabulary its text.

    Raises:
        ValueError, KeyError, TypeError: a value is not of its field's type.
    """
    return {name: decode(record[name], sites) for name, decode in _fields(kind).items() if name in record}


@functools.cache
def _fields(kind: type[Struct]) -> dict[str, Decode]:
    hints = typing.get_type_hints(kind, localns=vars(t))
    return {
        name: _decoder(hints[name])
        for name in kind.__struct_fields__
        if not (issubclass(kind, t.Event) and name in COMMON)
    }


def _decoder(hint: Any) -> Decode:  # noqa: ANN401 - any type that a field may have
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _maybe(next(each for each in inner if each is not type(None)))
    if origin is frozenset:
        return _many(frozenset, _decoder(inner[0]))
    if origin is tuple:
        return _many(tuple, _decoder(inner[0])) if inner[-1] is Ellipsis else _each([_decoder(each) for each in inner])
    return _of_class(hint)


def _of_class(kind: type) -> Decode:
    if kind is t.Site:
        return lambda value, sites: sites[value]
    if issubclass(kind, enum.Enum):
        return lambda value, _: kind(value)
    if issubclass(kind, Struct):
        return lambda value, sites: kind(**decoded(kind, value, sites))
    return _plain((float, int) if kind is float else (kind,))


def _maybe(hint: Any) -> Decode:  # noqa: ANN401 - as for all decoders
    decode = _decoder(hint)
    return lambda value, sites: None if value is None else decode(value, sites)


def _many(kind: Callable[[Any], Any], decode: Decode) -> Decode:
    return lambda value, sites: kind(decode(each, sites) for each in value)


def _each(decoders: list[Decode]) -> Decode:
    return lambda value, sites: tuple(decode(one, sites) for decode, one in zip(decoders, value, strict=True))


def _plain(kinds: tuple[type, ...]) -> Decode:
    def decode(value: Any, _: Sites) -> Any:  # noqa: ANN401
        if not isinstance(value, kinds):
            message = f"{value!r} is no {kinds[0].__name__}"
            raise TypeError(message)
        return value

    return decode
