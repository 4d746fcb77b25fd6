"""Where the source says how long a dimension is: the settings of layers, and shapes that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.layers import setting, ways_of
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import Plain

if TYPE_CHECKING:
    from torch_doctor.static.values import Making, Value

STATE: Final = ".state"
"""Ends the name of what a recurrent layer has kept."""


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
