"""What functions of images and of tables of weights make of shapes: convolutions, pools, padding, embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.arguments import argument, sizes_in
from torch_doctor.static.measuring.core import first_of, measured
from torch_doctor.static.values import Sequence, Value, shapes
from torch_doctor.static.values.shapes import ANY, Meta, Shape

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect
    from torch_doctor.static.values.shapes import Making


def _last_unknown(shape: Shape | None, count: int) -> Shape | None:
    """The shape, of which the last sizes are others."""
    if shape is None or ANY in shape or len(shape) < count:
        return None
    return (*shape[: len(shape) - count], *(None,) * count)


def _weight(value: Value | None) -> Shape | None:
    shape = None if value is None else measured(value).shape
    return None if shape is None or ANY in shape else shape


def _convolved(made: Making) -> Meta:
    """Channels change to those of the weight, and what comes after them."""
    meta, weight = first_of(made), _weight(argument(made, 1, "weight"))
    further = int(made.name[-2])
    shape = _last_unknown(meta.shape, further + 1)
    transposed = "transpose" in made.name
    channels = weight[0] if weight and not transposed else None
    return Meta(meta.dtype, None if shape is None else (*shape[: -further - 1], channels, *(None,) * further))


def _pooled(made: Making) -> Meta:
    """What comes after the channels changes: as many dimensions as the name says."""
    meta = first_of(made)
    return Meta(meta.dtype, _last_unknown(meta.shape, int(made.name.partition("d_")[0].rstrip("d")[-1])))


def _resized(made: Making) -> Meta:
    """Images of another size: all behind the channels."""
    meta = first_of(made)
    rank = 0 if meta.shape is None or ANY in meta.shape else len(meta.shape)
    return Meta(meta.dtype, _last_unknown(meta.shape, rank - 2) if rank > 2 else None)


def _shuffled(made: Making) -> Meta:
    """`pixel_shuffle`: channels become pixels."""
    meta = first_of(made)
    return Meta(meta.dtype, _last_unknown(meta.shape, 3))


def _padded(made: Making) -> Meta:
    """`pad`: two numbers for each dimension, the last one first."""
    meta, given = first_of(made), argument(made, 1, "pad")
    numbers = sizes_in(given) if isinstance(given, Sequence) else None
    rank = 0 if meta.shape is None or ANY in meta.shape else len(meta.shape)
    return Meta(meta.dtype, _last_unknown(meta.shape, len(numbers) // 2 if numbers is not None else rank))


def _embedded(made: Making) -> Meta:
    """A row of the weight for each index."""
    first, weight = first_of(made), argument(made, 1, "weight")
    if shapes.is_floating(first.dtype):
        return Meta(first.dtype, None)  # `torch.embedding` gets the weight first
    index = first.shape
    rows = _weight(weight)
    size = rows[1] if rows and len(rows) > 1 else None
    dtype = "floating" if weight is None else measured(weight).dtype
    return Meta(dtype, (*index, size) if index is not None else (ANY, size) if size is not None else None)


def _halved(made: Making) -> Meta:
    """`glu`."""
    meta = first_of(made)
    return Meta(meta.dtype, None if meta.shape is None else tuple(s if s == ANY else None for s in meta.shape))


def _sampled(made: Making) -> Meta:
    """`grid_sample`: channels of the images, at as many places as the grid has."""
    image, grid = _weight(made.args[0] if made.args else None), _weight(argument(made, 1, "grid"))
    return Meta(first_of(made).dtype, (*image[:2], *grid[1:-1]) if image and grid else None)


_POOLS: Final = (
    *(f"{kind}_pool{d}d" for kind in ("avg", "max", "lp", "adaptive_avg", "adaptive_max") for d in (1, 2, 3)),
    *(f"max_unpool{d}d" for d in (1, 2, 3)),
    *(f"{kind}_pool{d}d" for kind in ("fractional_max",) for d in (2, 3)),
    *(f"max_pool{d}d_with_indices" for d in (1, 2, 3)),
)
EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys((f"conv{way}{d}d" for way in ("", "_transpose") for d in (1, 2, 3)), _convolved),
    **dict.fromkeys(_POOLS, _pooled),
    **dict.fromkeys(("interpolate", "upsample", "upsample_nearest", "upsample_bilinear"), _resized),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle"), _shuffled),
    "pad": _padded,
    "embedding": _embedded,
    "glu": _halved,
    "grid_sample": _sampled,
}
