"""What identifies the rows that a data set reads: its class, what it is given, and its settings, as a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.tables import data
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    Args,
    Bound,
    ClassValue,
    Const,
    FunctionValue,
    Instance,
    Keywords,
    Lib,
    Loader,
    Module,
    Object,
    Partial,
    Plain,
    Tool,
    Unknown,
    Value,
    symbol_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREPARES: Final = (FunctionValue, Bound, Partial, Tool, Module, ClassValue, Lib)


def state(value: Instance) -> list[str]:
    """The settings of an object, which say as much as its arguments: whoever sets `mode` later reads other rows.

    No transform is one, as any other: it says how rows are prepared.
    """
    settings = (
        (key, field)
        for key, field in value.fields.items()
        if key not in data.PREPARING and (isinstance(field, Const) or elsewhere.is_told(field))
    )
    return sorted(f"{key}: {text(setting)}" for key, setting in settings)


def key(name: str, args: Args, keywords: Keywords, state: Iterable[str] = ()) -> str:
    """What identifies the rows that a dataset reads; "" where an argument is not known."""
    parts = [*state, *(text(value) for value in args if not _prepares(value))]
    for key, value in sorted(keywords.items()):
        if key not in data.PREPARING and not _prepares(value):
            told = text(value)
            parts.append(f"{key}={told}" if told else "")
    return f"{name}({', '.join(parts)})" if all(parts) else ""


def _prepares(value: Value) -> bool:
    """Whether an argument says how rows are prepared, and not which ones are read."""
    if isinstance(value, Tool) and (
        value.name in data.SUBSETS | data.CONCATENATIONS or data.iterable(value.name) is not None
    ):
        return False
    return isinstance(value, _PREPARES) and not elsewhere.chosen(value)


def text(value: Value) -> str:
    """What identifies an argument; "" where nothing does."""
    if isinstance(value, Const):
        return repr(value.value)
    if isinstance(value, (Plain, Unknown, Lib)):
        return repr(symbol_of(value))
    return f"object {value.id}" if isinstance(value, Object) and not isinstance(value, Loader) else ""
