"""What an item of a tensor has of its dimensions: numbers, slices, lists of rows and masks as the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.measuring.core import first_of, measured, size_at
from torch_doctor.static.values import Const, Making, Plain, Sequence, Tensor, Value, counting, number_dtype, shapes
from torch_doctor.static.values.shapes import ANY, UNKNOWN_META, Meta, Shape, Size
from torch_doctor.static.values.symbols import SLICE

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect


def _item(made: Making) -> Meta:
    """`tensor[key]`; `of` is the key's node, the second argument its value."""
    meta, key = first_of(made), made.of
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    index = made.args[1]
    values = index.content.items if parts != (key,) and isinstance(index, Sequence) else (index,)
    if meta.shape is None or len(values) != len(parts):
        return Meta(meta.dtype, None)
    pairs = list(zip(parts, values, strict=True))
    if shapes.ANY in meta.shape:
        return Meta(meta.dtype, _item_of_many(meta.shape, pairs))
    return Meta(meta.dtype, _item_of(meta.shape, pairs))


def _item_of(whole: Shape, pairs: list[tuple[object, Value]]) -> Shape | None:
    """The shape of an item of a tensor whose rank is known."""
    shape: list[Size] = []
    left = list(whole)
    chosen: Shape | None = None  # what tensors among the indices make of their dimensions
    place, picks = 0, []  # where these come, and which parts of the key take dimensions away
    for number, (part, value) in enumerate(pairs):
        if isinstance(value, Const) and value.value is None:
            shape.append(1)
        elif isinstance(value, Const) and value.value is Ellipsis:
            others = sum(not (isinstance(v, Const) and v.value is None) for _, v in pairs[number + 1 :])
            keep = len(left) - others
            shape, left = [*shape, *left[:keep]], left[keep:]
        elif not left:
            return None
        elif isinstance(part, p.Slice):
            size = left.pop(0)
            shape.append(size if part.lower is part.upper is part.step is None else _stretch(size, part, value))
        elif number_dtype(value) == "int64":
            left.pop(0)
            picks.append(number)
        else:
            rows = _indices(value)
            mask = rows.dtype == "bool"
            if not rows.shape or shapes.ANY in rows.shape or (mask and len(pairs) > 1):
                return None
            place = place if chosen is not None else len(shape)
            chosen = (None,) if mask else rows.shape if chosen is None else shapes.broadcast(chosen, rows.shape)
            left = left[len(rows.shape) if mask else 1 :]
            picks.append(number)
            if chosen is None:
                return None
    if chosen is None:
        return (*shape, *left)
    together = picks[-1] - picks[0] < len(picks)  # else NumPy and torch differ
    return (*shape[:place], *chosen, *shape[place:], *left) if together else None


def _indices(value: Value) -> Meta:
    """What is known of the numbers of rows, or yes and no for each row, that are a part of a key."""
    if isinstance(value, Sequence):
        return measured(Tensor(meta=Making("tensor", (value,)))) if value.kind == "list" else UNKNOWN_META
    array = isinstance(value, Plain) and value.size is not None and value.size.name == shapes.ARRAY
    return measured(value) if array or not isinstance(value, Plain) else UNKNOWN_META


def _item_of_many(whole: Shape, pairs: list[tuple[object, Value]]) -> Shape | None:
    """The last sizes of an item of a tensor that may have any number of dimensions in front of those that are known."""
    tail, last = whole[1:], pairs[-1]
    if all(isinstance(part, p.Slice) or number_dtype(value) == "int64" for part, value in pairs):
        return (ANY, *tail[len(pairs) :]) if len(tail) > len(pairs) else None
    ellipsis = len(pairs) > 1 and isinstance(pairs[0][1], Const) and pairs[0][1].value is Ellipsis
    if ellipsis and len(pairs) == 2:
        if isinstance(last[1], Const) and last[1].value is None:
            return (*whole, 1)
        if number_dtype(last[1]) == "int64":
            return (ANY, *tail[:-1]) if len(tail) > 1 else None
        if isinstance(last[0], p.Slice):
            return (ANY, *tail[:-1], _stretch(tail[-1], last[0], last[1]))
    return None


def _stretch(size: Size, part: p.Slice, value: Value) -> Size:
    """How long a stretch is: between bounds that are computed, as long as a batch; `i:i + 1` is one row.

    One from the start to a size of a tensor is as long as that.
    """
    if isinstance(value, Plain) and value.size is not None and value.size.name == SLICE:
        long = size_at(value.size.args[0])
        return min(size, long) if isinstance(size, int) and isinstance(long, int) else long
    if part.lower is not None and part.step is None and _next_to(part.lower, part.upper):
        return 1
    written = [bound for bound in (part.lower, part.upper, part.step) if bound is not None]
    plain = all(isinstance(bound, (p.Const, p.Operation)) and not _computed(bound) for bound in written)
    if not plain:
        return shapes.BATCH if part.upper is not None else None
    if isinstance(size, int) and all(isinstance(bound, p.Const) for bound in written):
        bounds = [bound.value if isinstance(bound, p.Const) else None for bound in (part.lower, part.upper, part.step)]
        if all(bound is None or isinstance(bound, int) for bound in bounds):
            return counting.length(range(*slice(*bounds).indices(size)))
    return None


def _next_to(lower: p.Expr, upper: p.Expr | None) -> bool:
    """Whether one bound is the other and 1 more."""
    if not isinstance(upper, p.Operation) or upper.op != "+" or not isinstance(lower, p.Name):
        return False
    first, second = upper.operands if len(upper.operands) == 2 else (None, None)
    if isinstance(first, p.Const):
        first, second = second, first
    one = isinstance(second, p.Const) and second.value == 1
    return one and isinstance(first, p.Name) and first.id == lower.id


def _computed(node: p.Expr) -> bool:
    return isinstance(node, p.Operation) and not all(isinstance(operand, p.Const) for operand in node.operands)


EFFECTS: Final[dict[str, Effect]] = {"[]": _item}
