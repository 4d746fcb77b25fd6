"""What moving and selecting numbers makes of shapes: views, new and lost dimensions, parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.arguments import argument, dtype_of, is_counted, sizes_in
from torch_doctor.static.measuring.core import first_of, measured, size_at
from torch_doctor.static.values import Making, Sequence, shapes
from torch_doctor.static.values.shapes import UNKNOWN_META, Meta

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect


def _view(made: Making) -> Meta:
    meta = first_of(made)
    named = dtype_of(made.args[1]) if len(made.args) > 1 else ""
    given = made.keywords.get("shape") or made.keywords.get("size")
    sizes = sizes_in(given) if given is not None else sizes_in(*made.args[1:])
    return Meta(meta.dtype, None if sizes is None or named else shapes.reshaped(meta.shape, sizes))


def _as_other(made: Making) -> Meta:
    """`view_as`, `reshape_as`, `expand_as`."""
    return Meta(first_of(made).dtype, measured(made.args[1]).shape if len(made.args) > 1 else None)


def _expand(made: Making) -> Meta:
    given = made.keywords.get("size")
    sizes = sizes_in(given) if given is not None else sizes_in(*made.args[1:])
    meta = first_of(made)
    own = () if meta.shape is None or shapes.ANY in meta.shape else meta.shape
    if sizes is None or len(sizes) < len(own):  # torch refuses fewer dimensions than there are
        return Meta(meta.dtype, None)
    own = (*(None,) * (len(sizes) - len(own)), *own)
    return Meta(meta.dtype, tuple(was if size == -1 else size for size, was in zip(sizes, own, strict=True)))


def _flatten(made: Making) -> Meta:
    start, end = argument(made, 1, "start_dim"), argument(made, 2, "end_dim")
    known = (0 if start is None else size_at(start), -1 if end is None else size_at(end))
    meta = first_of(made)
    return Meta(meta.dtype, None if None in known else shapes.flattened(meta.shape, *known))


def _squeeze(made: Making) -> Meta:
    given, meta = argument(made, 1, "dim"), first_of(made)
    if given is None:
        return Meta(meta.dtype, shapes.squeezed(meta.shape))
    dim = size_at(given)
    return Meta(meta.dtype, None if dim is None else shapes.squeezed(meta.shape, dim))


def _unsqueeze(made: Making) -> Meta:
    given, meta = argument(made, 1, "dim"), first_of(made)
    return Meta(meta.dtype, None if given is None else shapes.unsqueezed(meta.shape, size_at(given)))


def _transpose(made: Making) -> Meta:
    meta = first_of(made)
    if made.name in ("mT", "adjoint", "mH"):
        return Meta(meta.dtype, shapes.swapped(meta.shape, -2, -1))
    if made.name in ("t", "T"):
        whole = meta.shape is not None and shapes.ANY not in meta.shape
        return Meta(meta.dtype, meta.shape[::-1] if whole and meta.shape is not None else None)
    dims = [size_at(value) for value in (argument(made, 1, "dim0"), argument(made, 2, "dim1")) if value is not None]
    return Meta(meta.dtype, shapes.swapped(meta.shape, *dims) if len(dims) == 2 else None)


def _moved(made: Making) -> Meta:
    """`movedim`: of one dimension, or else as many dimensions as there were."""
    meta = first_of(made)
    dims = [size_at(value) for value in (argument(made, 1, "source"), argument(made, 2, "destination")) if value]
    if meta.shape is None or shapes.ANY in meta.shape:
        return Meta(meta.dtype, None)
    places = [shapes.place(meta.shape, dim) for dim in dims]
    source, goal = places if len(places) == 2 else (None, None)
    if source is None or goal is None:
        return Meta(meta.dtype, (None,) * len(meta.shape))
    others = (*meta.shape[:source], *meta.shape[source + 1 :])
    return Meta(meta.dtype, (*others[:goal], meta.shape[source], *others[goal:]))


def _unflatten(made: Making) -> Meta:
    """One dimension becomes several."""
    meta, given, sizes = first_of(made), argument(made, 1, "dim"), argument(made, 2, "sizes")
    parts = None if sizes is None else sizes_in(sizes)
    position = None if meta.shape is None or given is None else shapes.place(meta.shape, size_at(given))
    if meta.shape is None or position is None or parts is None:
        return Meta(meta.dtype, None)
    inner = shapes.reshaped(meta.shape[position : position + 1], parts)
    return Meta(meta.dtype, (*meta.shape[:position], *inner, *meta.shape[position + 1 :]))


def _diagonal(made: Making) -> Meta:
    """`diagonal`: two dimensions become one, the last; `diag` of a row is a matrix, `diag_embed` has one more."""
    meta = first_of(made)
    if meta.shape is None or shapes.ANY in meta.shape:
        return Meta(meta.dtype, None)
    rank = len(meta.shape)
    plain = len(made.args) == 1 and not made.keywords
    if made.name == "diagonal" and plain:
        return Meta(meta.dtype, (*meta.shape[2:], None))
    more = made.name == "diag_embed" or (made.name == "diag" and rank == 1)
    return Meta(meta.dtype, (None,) * (rank + 1 if more else rank - 1))


def _rotated(made: Making) -> Meta:
    """`rot90`: two dimensions may change places."""
    meta = first_of(made)
    return Meta(meta.dtype, None if meta.shape is None else tuple(s if s == shapes.ANY else None for s in meta.shape))


def _permute(made: Making) -> Meta:
    meta, dims = first_of(made), sizes_in(*made.args[1:])
    if dims is None or meta.shape is None or shapes.ANY in meta.shape or len(dims) != len(meta.shape):
        return Meta(meta.dtype, None if dims is None else (None,) * len(dims))
    positions = [shapes.place(meta.shape, dim) for dim in dims]
    return Meta(meta.dtype, tuple(None if i is None else meta.shape[i] for i in positions))


def _gather(made: Making) -> Meta:
    index = argument(made, 2, "index")
    return Meta(first_of(made).dtype, None if index is None else measured(index).shape)


def _stacked(made: Making) -> Meta:
    """`cat` and `stack`."""
    items = made.args[0] if made.args else made.keywords.get("tensors")
    if not isinstance(items, Sequence) or not items.content.all():
        return UNKNOWN_META
    metas = [measured(value) for value in items.content.all()]
    given = argument(made, 1, "dim")
    dim = 0 if given is None else size_at(given)
    shape = metas[0].shape
    dtype = shapes.promoted(meta.dtype for meta in metas)
    counted = is_counted(items)
    if made.name == "stack":
        for meta in metas[1:]:
            shape = shapes.joined(shape, meta.shape)
        position = None if shape is None else shapes.place(shape, dim, room=1)
        if shape is None or position is None:
            return Meta(dtype, None)
        return Meta(dtype, (*shape[:position], len(metas) if counted else None, *shape[position:]))
    ranks = {None if meta.shape is None or shapes.ANY in meta.shape else len(meta.shape) for meta in metas}
    position = None if shape is None or len(ranks) != 1 or None in ranks else shapes.place(shape, dim)
    if position is None or shape is None:
        return Meta(dtype, None)
    along = [meta.shape[position] if meta.shape else None for meta in metas]
    numbers = [size for size in along if isinstance(size, int)]
    total = sum(numbers) if counted and len(numbers) == len(along) else None
    for meta in metas[1:]:
        shape = shapes.joined(shape, meta.shape)
    return Meta(dtype, None if shape is None else (*shape[:position], total, *shape[position + 1 :]))


def _part(made: Making) -> Meta:
    """One of what `chunk`, `split` and `unbind` give."""
    meta = first_of(made)
    place = 1 if made.name == "unbind" else 2
    given = argument(made, place, "dim")
    dim = 0 if given is None else size_at(given)
    if meta.shape is None or dim is None:
        return Meta(meta.dtype, None)
    position = shapes.place(meta.shape, dim)
    if position is None:
        return Meta(meta.dtype, None)
    if made.name == "unbind":
        return Meta(meta.dtype, shapes.reduced(meta.shape, dim, keep=False))
    return Meta(meta.dtype, (*meta.shape[:position], None, *meta.shape[position + 1 :]))


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("view", "reshape"), _view),
    **dict.fromkeys(("view_as", "reshape_as", "expand_as"), _as_other),
    **dict.fromkeys(("expand", "broadcast_to"), _expand),
    **dict.fromkeys(("movedim", "moveaxis"), _moved),
    "unflatten": _unflatten,
    **dict.fromkeys(("diagonal", "diag", "diag_embed"), _diagonal),
    "rot90": _rotated,
    **dict.fromkeys(("flatten", "ravel"), _flatten),
    **dict.fromkeys(("squeeze", "squeeze_"), _squeeze),
    **dict.fromkeys(("unsqueeze", "unsqueeze_"), _unsqueeze),
    **dict.fromkeys(("t", "t_", "T", "mT", "mH", "adjoint"), _transpose),
    **dict.fromkeys(
        (f"{name}{end}" for name in ("transpose", "swapaxes", "swapdims") for end in ("", "_")), _transpose
    ),
    "permute": _permute,
    "parameters_to_vector": lambda _: Meta("", (None,)),
    "gather": _gather,
    **dict.fromkeys(("cat", "stack"), _stacked),
    **dict.fromkeys(("chunk", "split", "split_with_sizes", "unbind"), _part),
}
