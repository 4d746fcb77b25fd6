"""What identifies a value in a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values.objects import Object
from torch_doctor.static.values.plain import Const, Default, Lib, Plain, Unknown
from torch_doctor.static.values.symbols import VERSION, fresh_symbol, hashable

if TYPE_CHECKING:
    from torch_doctor.static.values.symbols import Symbol
    from torch_doctor.static.values.value import Value


def symbol_of(value: Value) -> Symbol:
    """What identifies a value in a test."""
    if isinstance(value, (Plain, Unknown, Default)):
        return value.symbol
    if isinstance(value, Const):
        return ("const", value.value if hashable(value.value) else repr(value.value))
    if isinstance(value, Object):
        return (VERSION if value.tells_version else "object", value.id)
    if isinstance(value, Lib):
        return ("lib", value.name)
    return fresh_symbol()
