"""The arguments that decide dtypes and shapes: sizes, dimensions, flags, names of dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.measuring.core import measured, size_at
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Const, Fact, Lib, Plain, Sequence, Spread, Value

if TYPE_CHECKING:
    from torch_doctor.static.values import Making
    from torch_doctor.static.values.shapes import Shape, Size
    from torch_doctor.trace import Tri


def argument(made: Making, position: int, name: str) -> Value | None:
    """An argument by its position (the tensor itself is 0) or name."""
    return made.args[position] if position < len(made.args) else made.keywords.get(name)


def flag(made: Making, name: str, position: int) -> Tri:
    """A switch that is off by default."""
    value = argument(made, position, name)
    if value is None:
        return False
    return value.value if isinstance(value, Const) and isinstance(value.value, bool) else None


def dtype_in(made: Making) -> str:
    """The dtype that is asked for; "" where none is, or none that is known."""
    value = made.keywords.get("dtype")
    return "" if value is None else dtype_of(value)


def dtype_of(value: Value) -> str:
    """The dtype that a value names."""
    if isinstance(value, Lib):
        return table.DTYPES.get(canonical(value.name), table.DTYPES.get(value.name, ""))
    if isinstance(value, Const):
        return table.DTYPES.get(str(value.value), "")
    if isinstance(value, Plain) and value.size is not None and value.size.name == "dtype":
        return measured(value.size.args[0]).dtype
    return ""


def may_be_dtype(value: Value) -> bool:
    """Whether a value that names none for certain may be one: what is plain is a device, but for what is called so."""
    if isinstance(value, Plain):
        return "dtype" in str(value.symbol[-1]) or (value.size is not None and value.size.name == "dtype")
    return not isinstance(value, Const)


def is_counted(items: Sequence) -> bool:
    """Whether a list has as many items as are in sight."""
    return items.content.rest is None and not items.fact(Fact.GROWN)


def sizes_in(*values: Value) -> Shape | None:
    """Sizes given one by one, or as one list, tuple or shape; None where it is not known how many there are."""
    if len(values) == 1:
        only = values[0]
        if isinstance(only, Sequence):
            return None if not is_counted(only) else tuple(map(_size, only.content.items))
        if isinstance(only, Plain) and only.size is not None and only.size.name == "shape":
            return measured(only.size.args[0]).shape
        if not isinstance(only, (Const, Plain)):
            return None
    if any(isinstance(value, Spread) for value in values):
        return None
    return tuple(map(_size, values))


def _size(value: Value) -> Size:
    return size_at(value)
