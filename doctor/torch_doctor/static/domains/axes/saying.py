"""Where the source says how long a dimension is: the settings of layers, and shapes that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.arguments import sizes_in
from torch_doctor.static.measuring.layers import setting, ways_of
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import Const, Content, Plain, Sequence, Unknown, number_dtype, shapes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values import Making, Value
    from torch_doctor.static.values.shapes import Shape

STATE: Final = ".state"
"""Ends the name of what a recurrent layer has kept."""
_REPEATING: Final = frozenset(("repeat", "tile", "expand"))
_ONE_LIST: Final = 2
"""The arguments of such an operation where the second may be a list of numbers, or the only one."""


def saying(made: Making) -> tuple[int, Value | None, int]:
    """The place, counted from the end, the setting, and its factor, of the dimension whose size a layer was given."""
    name = made.name.removeprefix("nn.")
    if name in table.LAYERS_LAST:
        return 1, setting(made, *table.LAYERS_LAST[name]), 1
    if name in table.LAYERS_CHANNELS:
        return 1 + int(name[-2]), setting(made, *table.LAYERS_CHANNELS[name]), 1
    if name == "Embedding":
        return 1, setting(made, 1, "embedding_dim"), 1
    recurrent = name.removesuffix(STATE)
    ways = ways_of(made) if recurrent in table.LAYERS_RECURRENT else None
    if ways is not None and setting(made, 7, "proj_size") is None:
        return 1, setting(made, 1, "hidden_size"), 1 if name.endswith(STATE) else ways
    return 1, None, 1


def read_shape(value: Value) -> Value | None:
    """The tensor whose shape a value is."""
    size = value.size if isinstance(value, Plain) else None
    return size.args[0] if size is not None and size.name == "shape" else None


def permuted(made: Making) -> Shape:
    """The dimensions that `permute` is given: all that the tensor has; none where they are not known."""
    return sizes_in(*(made.args[1:] or filter(None, (made.keywords.get("dims"),)))) or ()


def with_sizes(made: Making) -> Iterable[Value]:
    """The arguments of an operation; what nothing is known of is a number where only sizes are given, or how often to repeat."""
    if made.name in table.MAKERS:
        return map(_as_sizes, made.args)
    if made.name not in _REPEATING or len(made.args) == _ONE_LIST:
        return made.args
    numbers = (Plain(v.symbol, shapes.WHOLE) if isinstance(v, Unknown) else _as_sizes(v) for v in made.args[1:])
    return (*made.args[:1], *numbers)


def _as_sizes(value: Value) -> Value:
    """A size, or a list of some: what nothing else is known of is a number then."""
    if isinstance(value, Sequence):
        return Sequence(value.kind, Content(tuple(map(_as_sizes, value.content.items)), value.content.rest))
    return Plain(value.symbol, shapes.WHOLE) if isinstance(value, Plain) and value.size is None else value


def is_one_size(value: Value) -> bool:
    """Whether it is one size for certain, and no shape."""
    return isinstance(value, Const) or (
        isinstance(value, Plain) and value.size is not None and (value.size.name == "size" or bool(number_dtype(value)))
    )
