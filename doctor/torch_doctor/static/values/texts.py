"""Texts of which parts are known: paths are joined of them, and two that are joined of the same parts are the same."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from torch_doctor.static.values.plain import Const, Plain, Unknown
from torch_doctor.static.values.symbols import compound

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_doctor.static.values.symbols import Symbol
    from torch_doctor.static.values.value import Value

TEXT = "text"
"""Begins the symbol of a text; then come its parts: strings that are known, and symbols of what is not."""


def parts(value: Value) -> tuple[str | Symbol, ...] | None:
    """The known and unknown parts of a text; None where the value is surely none, or nothing is known of it."""
    if isinstance(value, Const):
        return (value.value,) if isinstance(value.value, str) else (repr(value.value),)
    if isinstance(value, Plain):
        return value.symbol[1:] if value.symbol[0] == TEXT else (value.symbol,)
    return (value.symbol,) if isinstance(value, Unknown) else None


def made(values: Sequence[Value], between: str = "") -> Plain | None:
    """The text that is joined of these values; None where one of them is no text."""
    found: list[str | Symbol] = []
    for value in values:
        of_value = parts(value)
        if of_value is None:
            return None
        if found and between:
            found.append(between)
        found += of_value
    return of(found) if found else None


def joined(operands: Sequence[Value], between: str) -> Plain | None:
    """What an operator makes of texts, of which one is known to be one."""
    known = any(isinstance(value, Plain) and value.symbol[0] == TEXT for value in operands)
    known = known or (
        not between and any(isinstance(value, Const) and isinstance(value.value, str) for value in operands)
    )
    return made(operands, between) if known else None


def of(found: Iterable[str | Symbol]) -> Plain:
    """The text of these parts."""
    return Plain(compound(TEXT, *found))


def path(found: Iterable[str | Symbol]) -> str:
    """A path in one spelling: however it was joined, the same file has the same."""
    text = "".join(part if isinstance(part, str) else f"{{{part}}}" for part in found)
    return posixpath.normpath(text) if text else ""
