"""Events with some value in every field that has no default."""

from __future__ import annotations

import enum
import types
import typing
from typing import Any

from msgspec import NODEFAULT, Struct

from torch_doctor import trace as t

HERE = t.Site("train.py", 1, 1, 1, 2)
ROOT = t.Scope(t.ScopeKind.ROOT, HERE)
VALUES: dict[type, object] = {int: 3, float: 0.5, str: "fc.weight", bool: True, t.Site: HERE, t.Scope: ROOT}


def made(kind: type[t.Event]) -> t.Event:
    """An event of this class."""
    hints = typing.get_type_hints(kind, localns=vars(t))
    fields: dict[str, Any] = {name: _value(hints[name]) for name in required(kind)}
    return kind(**fields)


def required(kind: type[Struct]) -> set[str]:
    """The fields of a class that have no default."""
    fields = kind.__struct_fields__
    defaults = kind.__struct_defaults__  # of the last fields
    without = len(fields) - len(defaults)
    return {
        name for name, default in zip(fields, (NODEFAULT,) * without + defaults, strict=True) if default is NODEFAULT
    }


def _value(hint: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _value(inner[0])
    if origin is frozenset:
        return frozenset({_value(inner[0])})
    if origin is tuple:
        return tuple(_value(each) for each in inner if each is not Ellipsis)
    if issubclass(hint, enum.Enum):
        return list(hint)[-1]
    return VALUES[hint] if hint in VALUES else hint()
