"""What the layers of torch.nn make of dtypes and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.core import first_of, measured, size_at
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import Const, Making, Module, Tensor, Value, shapes
from torch_doctor.static.values.shapes import ANY, Meta

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect
    from torch_doctor.static.values.shapes import Shape, Size

PACK: Final = "pack_padded_sequence"
PADDED: Final = "padded"
"""Names the sequences that were packed for a recurrent layer, among the keywords of its states."""
_BATCH_FIRST: Final = 2


def setting(made: Making, position: int, name: str) -> Value | None:
    """A constructor argument of the layer."""
    module = made.of
    return given(module, position, name) if isinstance(module, Module) and module.cls is None else None


def given(module: Module, position: int, name: str) -> Value | None:
    """An argument that a layer of torch was constructed with; None where it was not given."""
    return module.given[position] if position < len(module.given) else module.settings.get(name)


def _number(made: Making, position: int, name: str) -> Size:
    value = setting(made, position, name)
    return None if value is None else size_at(value)


def _floating(made: Making) -> str:
    dtype = first_of(made).dtype
    return dtype if shapes.is_floating(dtype) else "floating"


def _same(made: Making) -> Meta:
    return Meta(_floating(made), first_of(made).shape)


def _kept(made: Making) -> Meta:
    return first_of(made)


def _last(made: Making) -> Meta:
    position, name = table.LAYERS_LAST[made.name.removeprefix("nn.")]
    return Meta(_floating(made), shapes.with_last(first_of(made).shape, _number(made, position, name)))


def _whole(shape: Shape | None, rank: int) -> Shape:
    """The shape of images (`rank` dimensions with batch and channels), also where nothing is known of them."""
    if shape is None or ANY in shape or len(shape) < rank - 1:
        return (None,) * rank
    return shape


def _channels(made: Making) -> Meta:
    name = made.name.removeprefix("nn.")
    position, setting = table.LAYERS_CHANNELS[name]
    further = int(name[-2])
    shape = _whole(first_of(made).shape, further + 2)
    before = shape[: -further - 1]
    return Meta(_floating(made), (*before, _number(made, position, setting), *(None,) * further))


def _pool(made: Making) -> Meta:
    name = made.name.removeprefix("nn.")
    further = int(name[-2])
    shape = _whole(first_of(made).shape, further + 2)
    size: Size = None
    if name.startswith("Adaptive"):
        size = _number(made, 0, "output_size")
    return Meta(_floating(made), (*shape[:-further], *(size,) * further))


def _flatten(made: Making) -> Meta:
    start, end = setting(made, 0, "start_dim"), setting(made, 1, "end_dim")
    known = (1 if start is None else size_at(start), -1 if end is None else size_at(end))
    meta = first_of(made)
    return Meta(meta.dtype, None if None in known else shapes.flattened(meta.shape, *known))


def _embedding(made: Making) -> Meta:
    shape, size = first_of(made).shape, _number(made, 1, "embedding_dim")
    return Meta("floating", (*shape, size) if shape is not None else (ANY, size) if size is not None else None)


def _bag(made: Making) -> Meta:
    """A row for each bag: each row of the input is one, or the offsets tell how many there are."""
    shape = first_of(made).shape
    rows = shape[0] if shape is not None and len(shape) > 1 and ANY not in shape else None
    return Meta("floating", (rows, _number(made, 1, "embedding_dim")))


def _recurrent(made: Making) -> Meta:
    """The outputs of all steps: as many as inputs, each as long as the hidden state, twice where it goes both ways."""
    shape, size = first_of(made).shape, _hidden(made)
    ways = ways_of(made)
    size = ways * size if isinstance(size, int) and ways is not None else None
    return Meta("floating", shapes.with_last(shape, size) if shape is not None else (ANY, None, size))


def ways_of(made: Making) -> int | None:
    """In how many directions a recurrent layer goes; None where it is not known."""
    both = setting(made, 6 if made.name != "nn.RNN" else 7, "bidirectional")
    if both is None:
        return 1
    return 1 + bool(both.value) if isinstance(both, Const) else None


def _hidden(made: Making) -> Size:
    return None if setting(made, 7, "proj_size") is not None else _number(made, 1, "hidden_size")


def _state(made: Making) -> Meta:
    """The last hidden state of each layer and direction, for each sequence of the batch."""
    packed = made.keywords.get(PADDED)
    shape = first_of(made).shape if packed is None else measured(packed).shape
    layers, ways = setting(made, 2, "num_layers"), ways_of(made)
    known = 1 if layers is None else size_at(layers)
    count = known * ways if isinstance(known, int) and ways is not None else None
    if shape is None or ANY in shape:
        return Meta("floating", (ANY, None, _hidden(made)))
    if len(shape) < 3:
        return Meta("floating", (count, _hidden(made)))
    first = setting(made, 4, "batch_first") if made.name != "nn.RNN" else setting(made, 5, "batch_first")
    first = first if packed is None else made.keywords.get("batch_first")
    place = 1 if first is None else 1 - bool(first.value) if isinstance(first, Const) else None
    return Meta("floating", (count, None if place is None else shape[place], _hidden(made)))


def _cell(made: Making) -> Meta:
    """The next hidden state."""
    return Meta("floating", shapes.with_last(first_of(made).shape, _number(made, 1, "hidden_size")))


def _padded(made: Making) -> Meta:
    """Rows of numbers around images: what comes after the channels changes."""
    meta, further = first_of(made), int(made.name[-2])
    shape = _whole(meta.shape, further + 2)
    return Meta(meta.dtype, (*shape[:-further], *(None,) * further))


def _resized(made: Making) -> Meta:
    meta = first_of(made)
    known = meta.shape is not None and ANY not in meta.shape and len(meta.shape) > 2
    return Meta(meta.dtype, tuple(s if i < 2 else None for i, s in enumerate(meta.shape or ())) if known else None)


def packing(value: Value | None) -> dict[str, Value]:
    """What the numbers of a `PackedSequence` were packed of, and how that lies, as keywords of the states behind it."""
    made = value.meta if isinstance(value, Tensor) else None
    if not isinstance(made, Making) or made.name != PACK or not made.args or "**" in made.keywords:
        return {}
    first = made.args[_BATCH_FIRST] if len(made.args) > _BATCH_FIRST else made.keywords.get("batch_first")
    return {PADDED: made.args[0], "batch_first": Const(value=False) if first is None else first}


def _packs(made: Making) -> Meta:
    """All steps of all sequences, one behind the other."""
    return Meta(first_of(made).dtype)


def _floats(_: Making) -> Meta:
    """Of a layer whose first argument has another length than its result."""
    return Meta("floating")


EFFECTS: Final[dict[str, Effect]] = {
    **{f"nn.{name}": _same for name in table.LAYERS_SAME},
    **{f"nn.{name}": _last for name in table.LAYERS_LAST},
    **{f"nn.{name}": _channels for name in table.LAYERS_CHANNELS},
    **{f"nn.{name}": _pool for name in table.LAYERS_POOLS},
    **{f"nn.{name}": _recurrent for name in table.LAYERS_RECURRENT},
    **{f"nn.{name}.state": _state for name in table.LAYERS_RECURRENT},
    **{f"nn.{name}": _cell for name in table.LAYERS_CELLS},
    **{f"nn.{name}": _padded for name in table.LAYERS_PADS},
    **dict.fromkeys(("nn.Upsample", "nn.UpsamplingNearest2d", "nn.UpsamplingBilinear2d"), _resized),
    "nn.Identity": _kept,
    "nn.Transformer": _floats,
    "nn.Flatten": _flatten,
    "nn.Embedding": _embedding,
    "nn.EmbeddingBag": _bag,
    PACK: _packs,
}
