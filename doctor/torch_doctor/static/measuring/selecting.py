"""What selecting, sorting, joining and repeating make of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.arguments import argument, flag, is_counted, sizes_in
from torch_doctor.static.measuring.core import first_of, measured, size_at
from torch_doctor.static.values import Const, Making, Sequence, shapes
from torch_doctor.static.values.shapes import ANY, UNKNOWN_META, Meta, Shape, Size

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect


def _dim(made: Making, position: int, name: str = "dim", default: int | None = None) -> Size:
    """A dimension that is given; None where it is not known, or where none is given that would do."""
    given = argument(made, position, name)
    return default if given is None else size_at(given)


def _with(shape: Shape | None, dim: Size, size: Size) -> Shape | None:
    """The shape with another size in one dimension."""
    position = None if shape is None else shapes.place(shape, dim)
    return None if shape is None or position is None else (*shape[:position], size, *shape[position + 1 :])


def _topk(made: Making) -> Meta:
    meta, count = first_of(made), argument(made, 1, "k")
    return Meta(meta.dtype, _with(meta.shape, _dim(made, 2, default=-1), None if count is None else size_at(count)))


def _sorted(made: Making) -> Meta:
    return first_of(made)


def _places(made: Making) -> Meta:
    """The indices beside values that were chosen or sorted, or what sorts them."""
    return Meta("int64", first_of(made).shape)


def _lost(made: Making) -> Meta:
    """`select` and `kthvalue`: one dimension is gone."""
    meta = first_of(made)
    dim = _dim(made, 1) if made.name == "select" else _dim(made, 2, default=-1)
    kept = "keepdim" in made.keywords or len(made.args) > 3
    return Meta(meta.dtype, None if kept else shapes.reduced(meta.shape, dim, keep=False))


def _narrowed(made: Making) -> Meta:
    """`narrow` and `index_select`: some rows of one dimension."""
    meta = first_of(made)
    rows = argument(made, 3, "length") if made.name == "narrow" else argument(made, 2, "index")
    size: Size = None
    if rows is not None:
        index = measured(rows).shape
        size = size_at(rows) if made.name == "narrow" else index[0] if index and len(index) == 1 else None
    return Meta(meta.dtype, _with(meta.shape, _dim(made, 1), None if size == ANY else size))


def _indexed(made: Making) -> Meta:
    """`take` and `take_along_dim`: as many as there are indices."""
    index = argument(made, 1, "index") or argument(made, 1, "indices")
    along = made.name == "take" or _dim(made, 2) is not None
    shape = None if index is None or not along else measured(index).shape
    if made.name == "take_along_dim" and shape is not None:
        shape = tuple(size if size == ANY else None for size in shape)  # it is broadcast with the first
    return Meta(first_of(made).dtype, shape)


def _flat(made: Making) -> Meta:
    """`masked_select` and `unique`: in one dimension."""
    whole = made.name == "masked_select" or not ({"dim", "axis", "**"} & set(made.keywords) or len(made.args) > 1)
    single = whole and not any(name.startswith("return") for name in made.keywords)
    return Meta(first_of(made).dtype, (None,) if single else None)


def _found(made: Making) -> Meta:
    """`nonzero` and `argwhere`: a row for each, with its place in every dimension, or one of a tuple of these places."""
    if (single := flag(made, "as_tuple", 1)) is not False:
        return Meta("int64", (None,) if single else None)
    shape = first_of(made).shape
    rank = None if shape is None or ANY in shape else len(shape)
    return Meta("int64", (None, rank))


def _drawn(made: Making) -> Meta:
    """`multinomial`: so many of each row."""
    shape, count = first_of(made).shape, argument(made, 1, "num_samples")
    return Meta("int64", shapes.with_last(shape, None if count is None else size_at(count)) if shape else None)


def _repeated(made: Making) -> Meta:
    """`repeat` and `tile`: each dimension as often as is said, those that are said beyond its own in front."""
    meta = first_of(made)
    given = made.keywords.get("dims") or made.keywords.get("repeats")
    times = sizes_in(given) if given is not None else sizes_in(*made.args[1:])
    if times is None:
        return Meta(meta.dtype, None)
    shape = meta.shape if meta.shape is None or ANY not in meta.shape else None
    if shape is None:
        return Meta(meta.dtype, (None,) * len(times) if made.name == "repeat" and times else None)
    rank = max(len(times), len(shape))
    whole: Shape = (*(1,) * (rank - len(shape)), *shape)
    counts: Shape = (*(1,) * (rank - len(times)), *times)
    return Meta(meta.dtype, tuple(map(_times, whole, counts)))


def _times(size: Size, count: Size) -> Size:
    if count == 1:
        return size
    if size == 1:
        return count
    return size * count if isinstance(size, int) and isinstance(count, int) else None


def _interleaved(made: Making) -> Meta:
    """`repeat_interleave`."""
    meta, times = first_of(made), argument(made, 1, "repeats")
    if times is None:
        return Meta("int64", (None,))
    given = argument(made, 2, "dim")
    if given is None or (isinstance(given, Const) and given.value is None):
        return Meta(meta.dtype, (None,))
    dim = size_at(given)
    position = None if meta.shape is None else shapes.place(meta.shape, dim)
    size = meta.shape[position] if meta.shape is not None and position is not None else None
    return Meta(meta.dtype, _with(meta.shape, dim, _times(size, size_at(times))))


def _counted(made: Making) -> Meta:
    """`bincount` and `histc`."""
    whole = made.name == "bincount" and len(made.args) == 1 and "weights" not in made.keywords
    return Meta("int64" if whole else "", (None,))


def _cut(made: Making) -> Meta:
    """The first of what `tensor_split`, `vsplit` and the like give."""
    meta = first_of(made)
    dim = {"vsplit": 0, "dsplit": 2}.get(made.name)
    if made.name == "hsplit":
        dim = None if meta.shape is None or ANY in meta.shape else 0 if len(meta.shape) == 1 else 1
    elif dim is None:
        given = _dim(made, 2, default=0)
        dim = given if isinstance(given, int) else None
    return Meta(meta.dtype, _with(meta.shape, dim, None))


def _piled(made: Making) -> Meta:
    """`vstack`, `hstack`, `dstack` and `column_stack`, where all parts have as many dimensions."""
    parts = made.args[0] if made.args else made.keywords.get("tensors")
    if not isinstance(parts, Sequence) or not parts.content.all():
        return UNKNOWN_META
    metas = [measured(value) for value in parts.content.all()]
    dtype = shapes.promoted(meta.dtype for meta in metas)
    ranks = {None if meta.shape is None or ANY in meta.shape else len(meta.shape) for meta in metas}
    rank = next(iter(ranks)) if len(ranks) == 1 else None
    if rank is None:
        return Meta(dtype, None)
    shape = metas[0].shape or ()
    for meta in metas[1:]:
        shape = shapes.joined(shape, meta.shape) or ()
    many = len(metas) if is_counted(parts) else None
    if rank == 1 and made.name in _ABOVE:
        return Meta(dtype, (many, *shape))
    if rank == 1 and made.name == "column_stack":
        return Meta(dtype, (*shape, many))
    if rank > 1 and made.name != "dstack":
        return Meta(dtype, (None, *shape[1:]) if made.name in _ABOVE else (shape[0], None, *shape[2:]))
    return Meta(dtype, (None,) * max(rank, 3 if made.name == "dstack" else 1))


_ABOVE: Final = ("vstack", "row_stack")
"""What puts rows above each other."""


def _padded(made: Making) -> Meta:
    """`pad_sequence`: sequences side by side, as long as the longest."""
    parts = made.args[0] if made.args else made.keywords.get("sequences")
    items = parts.content.all() if isinstance(parts, Sequence) else ()
    metas = [measured(value) for value in items]
    shape = metas[0].shape if metas else None
    if shape is None or ANY in shape or not shape:
        return UNKNOWN_META
    return Meta(metas[0].dtype, (None, None, *shape[1:]))


EFFECTS: Final[dict[str, Effect]] = {
    "topk": _topk,
    **dict.fromkeys(("sort", "msort", "cummax", "cummin"), _sorted),
    **dict.fromkeys(("argsort", "searchsorted of", "indices"), _places),
    **dict.fromkeys(("select", "kthvalue"), _lost),
    **dict.fromkeys(("narrow", "index_select"), _narrowed),
    **dict.fromkeys(("take", "take_along_dim"), _indexed),
    **dict.fromkeys(("masked_select", "unique", "unique_consecutive"), _flat),
    **dict.fromkeys(("nonzero", "argwhere"), _found),
    "multinomial": _drawn,
    **dict.fromkeys(("repeat", "tile"), _repeated),
    "repeat_interleave": _interleaved,
    **dict.fromkeys(("bincount", "histc"), _counted),
    **dict.fromkeys(("tensor_split", "vsplit", "hsplit", "dsplit"), _cut),
    **dict.fromkeys(("vstack", "row_stack", "hstack", "dstack", "column_stack"), _piled),
    "pad_sequence": _padded,
}
