"""The sizes in the shape of a tensor, and stretches of sizes and other numbers, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import is_counted
from torch_doctor.static.values import Const, Content, Making, Module, Plain, Sequence, compound, symbol_of
from torch_doctor.static.values.shapes import ANY
from torch_doctor.static.values.symbols import LENGTH, SLICE

if TYPE_CHECKING:
    from torch_doctor.static.values import Value


def size_in(shape: Plain, key: Value) -> Making | None:
    """One of the sizes of a tensor, of its shape; None where that is no shape, or the dimension not known."""
    if shape.size is None or shape.size.name != "shape" or not isinstance(key, Const):
        return None
    return Making("size", shape.size.args, of=key.value)


def size_at(shape: Plain, key: Value) -> Plain:
    """The same as a number."""
    return Plain((LENGTH, compound("[]", shape.symbol, symbol_of(key))), size_in(shape, key))


def sizes_of(shape: Value) -> tuple[Value, ...] | None:
    """The sizes in a shape; None for anything else, or where the number of dimensions is not known."""
    if not isinstance(shape, Plain) or shape.size is None or shape.size.name != "shape":
        return None
    known = measured(shape.size.args[0]).shape
    if known is None or ANY in known:
        return None
    return tuple(size_at(shape, Const(place)) for place in range(len(known)))


def cut(value: Value, stretch: Value) -> tuple[Value, ...] | None:
    """What a slice takes of a shape, or of a list of numbers or modules; None where its ends or the items are not known."""
    items = sizes_of(value)
    if items is None and isinstance(value, Sequence) and is_counted(value):
        inside = value.content.items
        items = inside if all(isinstance(each, (Const, Plain, Module)) for each in inside) else None
    symbol = stretch.symbol if isinstance(stretch, Plain) else ("",)
    if items is None or symbol[0] != SLICE or not all(part[0] == "const" for part in symbol[1:]):
        return None
    ends = [part[1] for part in symbol[1:]]
    return (
        items[slice(*ends)] if all(end is None or isinstance(end, int) for end in ends) and 0 not in ends[2:] else None
    )


def listed(value: Value) -> Value:
    """The shape of a tensor as the tuple that it is; anything else as it is."""
    sizes = sizes_of(value)
    return value if sizes is None else Sequence("tuple", Content(sizes))
