"""What products make of shapes: of matrices, along letters of an equation, with a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.measuring.core import measured
from torch_doctor.static.values import Const, Making, Sequence, Value, shapes
from torch_doctor.static.values.shapes import ANY, UNKNOWN_META, Meta, Shape, Size

if TYPE_CHECKING:
    from torch_doctor.static.measuring.core import Effect

PAIR = 2
"""Dimensions of a matrix."""


def _factors(made: Making, first: int = 0) -> tuple[Meta, Meta]:
    """The two tensors that are multiplied, from this argument on."""
    given = [
        *made.args[first:],
        *(made.keywords[name] for name in ("mat2", "other", "vec", "vec2", "weight") if name in made.keywords),
    ]
    left, right = (measured(given[i]) if i < len(given) else UNKNOWN_META for i in range(2))
    return left, right


def _whole(shape: Shape | None) -> Shape | None:
    """The shape, where its number of dimensions is known."""
    return None if shape is None or ANY in shape else shape


def _size(meta: Meta, position: int, rank: int) -> Size:
    """One size of a tensor that surely has as many dimensions as that."""
    shape = _whole(meta.shape)
    return shape[position] if shape is not None and len(shape) == rank else None


def _dtype(left: Meta, right: Meta) -> str:
    return shapes.promoted((left.dtype, right.dtype))


def _matmul(made: Making) -> Meta:
    left, right = _factors(made)
    return Meta(_dtype(left, right), _product(left.shape, right.shape))


def _product(left: Shape | None, right: Shape | None) -> Shape | None:
    one, other = _whole(left), _whole(right)
    if other is not None and len(other) == PAIR and (one is None or len(one) > 1):
        return shapes.with_last(left, other[1])
    if one is None or other is None or not (one and other):
        return None
    if len(other) == 1:
        return one[:-1]
    if len(one) == 1:
        return (*other[:-2], other[-1])
    before = shapes.broadcast(one[:-2], other[:-2])
    return None if before is None else (*before, one[-2], other[-1])


def _of_ranks(left_rank: int, right_rank: int, *taken: tuple[int, int], first: int = 0) -> Effect:
    """A product of tensors with so many dimensions; `taken` are the tensor (0 or 1) and place of each size of the result."""

    def effect(made: Making) -> Meta:
        left, right = _factors(made, first)
        pairs = ((left, left_rank), (right, right_rank))
        return Meta(_dtype(left, right), tuple(_size(pairs[of][0], place, pairs[of][1]) for of, place in taken))

    return effect


def _chained(made: Making) -> Meta:
    """`chain_matmul` and `multi_dot`: of matrices, one after the other."""
    given = made.args[0].content.items if made.args and isinstance(made.args[0], Sequence) else made.args
    metas = [measured(value) for value in given]
    if len(metas) < PAIR or any(len(meta.shape or ()) != PAIR for meta in metas):
        return UNKNOWN_META
    return Meta(shapes.promoted(meta.dtype for meta in metas), (_size(metas[0], 0, PAIR), _size(metas[-1], 1, PAIR)))


def _inner(made: Making) -> Meta:
    left, right = _factors(made)
    one, other = _whole(left.shape), _whole(right.shape)
    return Meta(_dtype(left, right), (*one[:-1], *other[:-1]) if one and other else None)


def _linear(made: Making) -> Meta:
    left, right = _factors(made)
    weight = _whole(right.shape)
    if weight is not None and len(weight) == 1:
        shape = _whole(left.shape)
        return Meta(_dtype(left, right), None if not shape else shape[:-1])
    known = _whole(left.shape) is not None or weight is not None
    return Meta(_dtype(left, right), shapes.with_last(left.shape, weight[0] if weight else None) if known else None)


def _einsum(made: Making) -> Meta:
    """By the letters of the equation."""
    equation = made.args[0] if made.args else None
    if not isinstance(equation, Const) or not isinstance(equation.value, str):
        return UNKNOWN_META
    given = made.args[1:]
    given = given[0].content.items if len(given) == 1 and isinstance(given[0], Sequence) else given
    dtype = shapes.promoted(measured(value).dtype for value in given)
    before, arrow, after = equation.value.replace(" ", "").partition("->")
    if "." in after or (not arrow and "." in before):
        return Meta(dtype, None)
    letters = after if arrow else "".join(sorted(c for c in set(before) - {","} if before.count(c) == 1))
    sizes: dict[str, Size] = {}
    for names, value in zip(before.split(","), given, strict=False):
        shape = _whole(measured(value).shape)
        if shape is not None and len(shape) == len(names) and "." not in names:
            sizes.update((name, size) for name, size in zip(names, shape, strict=True) if sizes.get(name) in (None, 1))
    return Meta(dtype, tuple(sizes.get(name) for name in letters))


def _distances(made: Making) -> Meta:
    """`cdist`: of each row of one to each of the other."""
    left, right = _factors(made)
    one, other = _whole(left.shape), _whole(right.shape)
    if not one or not other or min(len(one), len(other)) < PAIR:
        return Meta("floating", None)
    before = shapes.broadcast(one[:-2], other[:-2])
    return Meta("floating", None if before is None else (*before, one[-2], other[-2]))


def _similarity(made: Making) -> Meta:
    """`cosine_similarity` and `pairwise_distance`: one dimension of both is summed up."""
    left, right = _factors(made)
    both = shapes.broadcast(left.shape, right.shape)
    given: Value | None = made.keywords.get("dim", made.args[2] if len(made.args) > PAIR else None)
    dim: object = 1 if given is None else given.value if isinstance(given, Const) else None
    if made.name == "pairwise_distance":
        dim = -1 if "keepdim" not in made.keywords else None
    return Meta("floating", shapes.reduced(both, dim, keep=False))


def _attention(made: Making) -> Meta:
    """`scaled_dot_product_attention(query, key, value)`."""
    metas = [measured(value) for value in made.args[:3]]
    if len(metas) < 3:
        return Meta("floating", None)
    value = _whole(metas[2].shape)
    return Meta(metas[0].dtype, shapes.with_last(metas[0].shape, value[-1] if value else None))


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("matmul", "@"), _matmul),
    **dict.fromkeys(("mm", "spmm", "dsmm", "smm"), _of_ranks(2, 2, (0, 0), (1, 1))),
    "bmm": _of_ranks(3, 3, (0, 0), (0, 1), (1, 2)),
    "mv": _of_ranks(2, 1, (0, 0)),
    **dict.fromkeys(("outer", "ger"), _of_ranks(1, 1, (0, 0), (1, 0))),
    **dict.fromkeys(("dot", "vdot"), _of_ranks(1, 1)),
    **dict.fromkeys(("addmm", "sspaddmm"), _of_ranks(2, 2, (0, 0), (1, 1), first=1)),
    "addmv": _of_ranks(2, 1, (0, 0), first=1),
    "addr": _of_ranks(1, 1, (0, 0), (1, 0), first=1),
    "addbmm": _of_ranks(3, 3, (0, 1), (1, 2), first=1),
    "baddbmm": _of_ranks(3, 3, (0, 0), (0, 1), (1, 2), first=1),
    **dict.fromkeys(("chain_matmul", "multi_dot"), _chained),
    "inner": _inner,
    "linear": _linear,
    "einsum": _einsum,
    "cdist": _distances,
    **dict.fromkeys(("cosine_similarity", "pairwise_distance"), _similarity),
    "scaled_dot_product_attention": _attention,
}
