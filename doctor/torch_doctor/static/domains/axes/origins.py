"""Where a dimension comes from: its place in what a tensor was made of. Places are counted from the end: -1 is the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes.saying import permuted
from torch_doctor.static.measuring import size_at
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Sequence, Tensor, Value
from torch_doctor.trace.amounts import Amount, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.domains.axes.sizes import Amounts

SizesOf: TypeAlias = "Callable[[Value], Amounts]"

VIEWS: Final = frozenset(words("view reshape flatten unflatten view_as reshape_as"))
_SWAPS: Final = frozenset(words("t t_ T mT mH adjoint transpose transpose_ swapaxes swapdims"))
_PARTS: Final = frozenset(words("chunk split split_with_sizes tensor_split expand expand_as broadcast_to"))
_PAIR: Final = 2
_HEADS: Final = 4
"""Dimensions of what is taken apart into heads: a view that gives as many hardly merges features with anything."""


class At(NamedTuple):
    """A dimension of a tensor: its place, and how many dimensions there are (None: not known)."""

    value: Value
    place: int
    rank: int | None
    exact: bool = True
    """Not where `view` has made several dimensions of it: then it is the last of them."""


def before(made: Making, at: At, sizes: SizesOf) -> At | None:
    """The same dimension of the first argument, where an operation only arranges elements; None where that is not known."""
    if not made.args:
        return None
    first, name, place, rank = made.args[0], made.name, at.place, at.rank
    if name in _PARTS:
        return At(first, place, None if name.startswith(("expand", "broadcast")) else rank, at.exact)
    if name in VIEWS:
        return _before_view(made, at, sizes)
    if name in _SWAPS:
        goes = _swapped(made, place, rank)
        return None if goes is None else At(first, goes, rank, at.exact)
    if name == "permute":
        return _before_permute(made, at)
    if name in ("unsqueeze", "unsqueeze_"):
        dim = _from_end(_number(argument(made, 1, "dim")), rank)
        if dim is None or dim == place:
            return None
        return At(first, place + (place < dim), None if rank is None else rank - 1, at.exact)
    if name in ("squeeze", "squeeze_", "unbind"):
        given = argument(made, 1, "dim")
        dim = 0 if name == "unbind" and given is None else _number(given)
        return _without(at, first, dim)
    return _before_item(made, at) if name == "[]" else None


def _before_permute(made: Making, at: At) -> At | None:
    dims = permuted(made)
    source = dims[at.place] if -len(dims) <= at.place else None
    return At(made.args[0], source % len(dims) - len(dims), len(dims), at.exact) if isinstance(source, int) else None


def _without(at: At, first: Value, dim: int | None) -> At | None:
    """Where a dimension was before another one, `dim`, was taken away."""
    rank = None if at.rank is None else at.rank + 1
    gone = None if dim == 0 and rank is None else _from_end(dim, rank)
    if gone is None and dim != 0:
        return None
    return At(first, at.place if gone is None or at.place > gone else at.place - 1, rank, at.exact)


def _before_item(made: Making, at: At) -> At | None:
    """Where a dimension was in what this is an item of: slices keep a dimension, None adds one, a number takes one away."""
    key, index = made.of, made.args[1]
    nodes = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    values = index.content.items if nodes != (key,) and isinstance(index, Sequence) else (index,)
    if len(nodes) != len(values):
        return None
    kinds = [_kind(node, value) for node, value in zip(nodes, values, strict=True)]
    if None in kinds:
        return None
    added, gone = kinds.count("new"), kinds.count("gone")
    if at.rank is None:
        leading = kinds in (["gone"], ["kept"])
        return At(made.args[0], at.place, None, at.exact) if leading else None
    rank = at.rank - added + gone
    rest = rank - kinds.count("kept") - gone
    many = ["kept"] * rest
    split = kinds.index("rest") if "rest" in kinds else len(kinds)
    kinds = [*kinds[:split], *many, *(each for each in kinds[split:] if each != "rest")]
    result = [place for place, kind in enumerate(each for each in kinds if each != "new") if kind == "kept"]
    shown = [kind for kind in kinds if kind != "gone"]
    if rest < 0 or at.place + len(shown) < 0 or shown[at.place] == "new":
        return None
    number = shown[: at.place + len(shown)].count("kept")
    return At(made.args[0], result[number] - rank, rank, at.exact)


def _kind(node: object, value: Value) -> str | None:
    """What one part of an index does to dimensions."""
    if isinstance(node, p.Slice):
        return "kept"
    if isinstance(value, Const):
        return "new" if value.value is None else "rest" if value.value is ... else "gone"
    return None


def _before_view(made: Making, at: At, sizes: SizesOf) -> At | None:
    first, place = made.args[0], at.place
    old, new = sizes(first), sizes(Tensor(meta=made))
    rank = None if old is None else len(old)
    if old and new and -len(new) <= place:
        inner, size = _known(new[place % len(new) + 1 :]), new[place]
        for number in range(len(old)) if inner is not None and size is not None else ():
            inside, whole = _known(old[number + 1 :]), old[number]
            if inside is None or whole is None or inner is None or size is None:
                continue
            if inside == inner and whole == size:
                return At(first, number - len(old), rank, at.exact)
            if inside.within(inner) and size.times(inner).within(whole.times(inside)):
                return At(first, number - len(old), rank, exact=False)
    if made.name == "flatten" and rank is not None:
        return _before_flatten(made, at, rank)
    longer = new is not None and len(new) >= (_HEADS if rank is None else rank)
    if place == -1 and longer:
        return At(first, -1, rank, exact=False)
    if rank is not None and new and len(new) == _PAIR + 1 and rank > len(new) and place == -_PAIR:
        return At(first, 1 - rank, rank, exact=False)  # channels stay where they are when rows and columns are merged
    return None


def _before_flatten(made: Making, at: At, rank: int) -> At | None:
    """Dimensions from one to another are merged: the others stay."""
    given = argument(made, 1, "start_dim"), argument(made, 2, "end_dim")
    start, end = (default if value is None else _number(value) for value, default in zip(given, (0, -1), strict=True))
    start, end = _from_end(start, rank), _from_end(end, rank)
    if start is None or end is None:
        return None
    if at.place > end:
        return At(made.args[0], at.place, rank, at.exact)
    place = at.place - (end - start)
    return At(made.args[0], place, rank, at.exact) if place < start else None


def _known(sizes: tuple[Amount | None, ...]) -> Amount | None:
    found = [size for size in sizes if size is not None]
    return product(found) if len(found) == len(sizes) else None


def _swapped(made: Making, place: int, rank: int | None) -> int | None:
    if made.name == "T":
        return None if rank is None else -1 - (rank + place)
    if made.name in ("t", "t_", "mT", "mH", "adjoint"):
        one, other = -1, -2
    else:
        dims = [_from_end(_number(argument(made, at, f"dim{at - 1}")), rank) for at in (1, 2)]
        if dims[0] is None or dims[1] is None:
            return None
        one, other = dims[0], dims[1]
    return other if place == one else one if place == other else place


def from_end(value: Value | None, rank: int | None) -> int | None:
    """A dimension that an argument names, counted from the end; None where it is not known."""
    return _from_end(_number(value), rank)


def _from_end(dim: int | None, rank: int | None) -> int | None:
    if dim is None or dim < 0:
        return dim
    return None if rank is None or dim >= rank else dim - rank


def _number(value: Value | None) -> int | None:
    size = None if value is None else size_at(value)
    return size if isinstance(size, int) else None
