"""What computing with tensors makes of dtypes and shapes: elementwise, reduced, cast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.arguments import argument, dtype_in, dtype_of, flag, may_be_dtype, sizes_in
from torch_doctor.static.measuring.core import first_of, measured, one_of, size_at
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import Const, Making, Plain, Sequence, Tensor, Value, number_dtype, shapes
from torch_doctor.static.values.shapes import UNKNOWN_META, Meta, Shape

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect
    from torch_doctor.static.values.shapes import Making


def _same(made: Making) -> Meta:
    meta = first_of(made)
    return Meta(dtype_in(made) or ("" if "dtype" in made.keywords else meta.dtype), meta.shape)


def _floating(made: Making) -> Meta:
    meta = first_of(made)
    return Meta(meta.dtype if shapes.is_floating(meta.dtype) else "floating", meta.shape)


def _cumulative(made: Making) -> Meta:
    """What is added up or multiplied along a dimension: integers and booleans become `int64`, as in `sum`."""
    meta = _same(made)
    exact = not meta.dtype or shapes.is_floating(meta.dtype) or "dtype" in made.keywords
    return meta if exact else Meta("int64", meta.shape)


def _elementwise(made: Making) -> Meta:
    found = [(value, measured(value)) for value in made.args]
    shape: Shape | None = ()
    for _, meta in found:
        shape = shapes.broadcast(shape, meta.shape)
    return Meta(_promoted(found), shape)


def _promoted(found: list[tuple[Value, Meta]]) -> str:
    """Numbers of Python only make integers floating."""
    tensors = [meta.dtype for value, meta in found if not isinstance(value, (Const, Plain))]
    numbers = [number_dtype(value) for value, _ in found if isinstance(value, (Const, Plain))]
    unknown = "" in numbers
    dtype = shapes.promoted(tensors)
    if shapes.is_floating(dtype) or not dtype or not numbers:
        return dtype
    return "" if unknown else "floating" if "floating" in numbers else "int64" if dtype == "bool" else dtype


def _division(made: Making) -> Meta:
    meta = _elementwise(made)
    rounded = "rounding_mode" in made.keywords
    return Meta("" if rounded else meta.dtype if shapes.is_floating(meta.dtype) else "floating", meta.shape)


def _test(made: Making) -> Meta:
    return Meta("bool", first_of(made).shape if made.name == "isin" else _elementwise(made).shape)


def _where(made: Making) -> Meta:
    if len(made.args) == 1:  # one of the tensors in the tuple that it gives
        return Meta("int64", (None,))
    shape: Shape | None = ()
    for value in made.args:
        shape = shapes.broadcast(shape, measured(value).shape)
    return Meta(_promoted([(value, measured(value)) for value in made.args[1:]]), shape)


def _distributed(made: Making) -> Meta:
    """A number for each element of the parameters; the first ones, `of` of them, have one for each class in their last one."""
    shape: Shape | None = ()
    for place, value in enumerate(made.args):
        its = measured(value).shape
        by_class = isinstance(made.of, int) and place < made.of
        shape = shapes.broadcast(shape, shapes.reduced(its, -1, keep=False) if by_class else its)
    return Meta("floating", shape)


def _drawn(made: Making) -> Meta:
    """What is drawn of a distribution: of classes, their numbers."""
    return Meta("int64" if made.of else "floating", _distributed(made).shape)


def _losses(made: Making) -> Meta:
    """One for each element of input and target, or for each row of scores, which have one for each class in dimension 1."""
    rows = shapes.reduced(first_of(made).shape, 1, keep=False)
    return Meta("floating", rows if made.of else _elementwise(made).shape)


def _reduction(made: Making) -> Meta:
    meta = first_of(made)
    dtype = "int64" if made.name in ("sum", "nansum", "prod") and shapes.is_integer(meta.dtype) else meta.dtype
    dtype = "bool" if made.name in ("all", "any") else dtype
    place = 2 if made.name in ("norm", "quantile", "nanquantile") else 1
    given = argument(made, place, "dim")
    if given is None:
        return Meta(dtype_in(made) or dtype, () if flag(made, "keepdim", place + 1) is False else None)
    keep = flag(made, "keepdim", place + 1)
    dims = sizes_in(given) if isinstance(given, Sequence) else size_at(given)
    if isinstance(given, Const) and given.value is None:
        return Meta(dtype, ())
    shape = None if keep is None else shapes.reduced(meta.shape, dims, keep=keep)
    if shape is None and keep and dims == -1:
        shape = (shapes.ANY, 1)
    return Meta(dtype_in(made) or dtype, shape)


def _last_reduction(made: Making) -> Meta:
    """`mode`: along the last dimension where none is given."""
    meta = first_of(made)
    return (
        _reduction(made) if argument(made, 1, "dim") else Meta(meta.dtype, shapes.reduced(meta.shape, -1, keep=False))
    )


def _indices(made: Making) -> Meta:
    return Meta("int64", _reduction(made).shape)


def _cast(made: Making) -> Meta:
    return Meta(table.CASTS[made.name], first_of(made).shape)


def _to(made: Making) -> Meta:
    """`to` and `type`: a dtype, a device, or another tensor among the arguments."""
    meta = first_of(made)
    dtype = meta.dtype
    for value in (*made.args[1:], *made.keywords.values()):
        if dtype_of(value):
            dtype = dtype_of(value)
        elif isinstance(value, Tensor):
            dtype = measured(value).dtype
        elif may_be_dtype(value):
            dtype = ""
    return Meta(dtype, meta.shape)


def _like(made: Making) -> Meta:
    """`type_as`."""
    other = measured(made.args[1]) if len(made.args) > 1 else UNKNOWN_META
    return Meta(other.dtype, first_of(made).shape)


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(table.SAME, _same),
    **dict.fromkeys(table.CUMULATIVE, _cumulative),
    **dict.fromkeys(table.FLOATING, _floating),
    **dict.fromkeys(table.ELEMENTWISE, _elementwise),
    **dict.fromkeys(table.DIVISIONS, _division),
    **dict.fromkeys(table.TESTS, _test),
    **dict.fromkeys(table.REDUCTIONS, _reduction),
    "mode": _last_reduction,
    **dict.fromkeys(table.INDICES, _indices),
    **dict.fromkeys(table.CASTS, _cast),
    "to": _to,
    "type": _to,
    "type_as": _like,
    "where": _where,
    table.DISTRIBUTED: _distributed,
    table.DRAWN: _drawn,
    table.LOSS: lambda _: Meta("floating", ()),
    table.LOSSES: _losses,
    "either": lambda made: one_of(list(made.args)),
}
