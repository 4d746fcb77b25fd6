"""Which steps between targets and scores let a place see later ones, where the targets are the next elements of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.domains import attending, padding, shifting, unmasked
from torch_doctor.static.domains.attending import ATTENTION
from torch_doctor.static.domains.axes import comparing
from torch_doctor.static.domains.axes.origins import At, before
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Sequence, Tensor, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_doctor.static.domains.attending import Mixing, Seeing
    from torch_doctor.static.domains.axes.origins import SizesOf
    from torch_doctor.static.domains.shifting import Line, Tokens
    from torch_doctor.trace import Site

_LAYERS: Final = frozenset(
    f"nn.{name}"
    for name in words(
        """
        MultiheadAttention TransformerEncoderLayer TransformerEncoder TransformerDecoderLayer TransformerDecoder
        Transformer Conv1d
        """
    )
)
_PROJECTING: Final = frozenset(("linear", "embedding", "nn.Embedding", *(f"nn.{name}" for name in table.LAYERS_LAST)))
_SAME: Final = (unmasked.EACH_PLACE | comparing.PASSING | set(words("softmax log_softmax"))) - padding.JOINING
_HIDING: Final = (table.ELEMENTWISE - set(words("+ - add sub subtract"))) | {"where", "masked_fill"}
"""What may hide some of the numbers that a model would otherwise get."""
_CUTTING: Final = frozenset(words("chunk split split_with_sizes tensor_split"))
_FAR: Final = 400
_DEEP: Final = 4
_BATCHED: Final = 3
"""Dimensions of sequences in a batch, and the least of an item whose last one leaves features out."""


class _Way(NamedTuple):
    """How scores go back to something: the first of its places that is used, and what happened on the way.

    `halved`: some features were left out. `hidden`: some numbers may have been, and no layer came before that.
    """

    start: int
    halved: bool
    hidden: bool


class Found(Struct, frozen=True, eq=False):
    """What scores are made of, and what mixes places on the way."""

    starts: dict[Tokens, set[_Way]]
    mixing: dict[Site, Mixing]


def leaks(scores: Value, target: Value, seeing: Seeing) -> list[Mixing]:
    """The steps through which scores see the elements that they are compared with, the first one first."""
    compared = shifting.line(target, frozenset(), through=False)
    if compared is None or not any(start for start, _ in compared.starts.values()):
        return []
    found = _back(scores, seeing)
    if found is None or not _is_next(found, compared):
        return []
    times = dict(_cuts(target))
    steps = [
        each for each in found.mixing.values() if all(_follows(at, compared, times, seeing.sizes) for at in each.along)
    ]
    return steps[::-1]


def _is_next(found: Found, compared: Line) -> bool:
    """Whether the targets are the elements that come next, of what the scores are made of."""
    both = [tokens for tokens in compared.starts if tokens in found.starts]
    ahead = {compared.starts[tokens][0] - way.start for tokens in both for way in found.starts[tokens]}
    return ahead == {1} and any(not way.hidden for tokens in both for way in found.starts[tokens])


def _back(scores: Value, seeing: Seeing, deep: int = 0) -> Found | None:
    """What each place of a value is made of; None where places are counted in ways that do not match."""
    found = Found({}, {})
    waiting, seen = [(scores, _Way(0, halved=False, hidden=False))], set[tuple[object, _Way]]()
    while waiting:
        value, way = waiting.pop(0)
        made = comparing.made_of(value)
        key: Tokens = value if made is None else made
        if made is None and not isinstance(value, (Tensor, Unknown)):
            continue
        found.starts.setdefault(key, set()).add(way)
        if (key, way) in seen or made is None:
            continue
        seen.add((key, way))
        if len(seen) > _FAR:
            return None
        if made.name == "either":
            if deep < _DEEP:
                _join(found, [_back(part, seeing, deep + 1) for part in made.args], way)
            continue
        step = seeing.layers.get(made) or attending.attention(made, seeing)
        if step is not None and not (way.halved and step.how == "recurrent"):
            found.mixing[step.site] = step
        waiting += _before(made, way, seeing, found)
    return found


def _join(found: Found, ways: list[Found | None], way: _Way) -> None:
    """Add what is true of all that a value may be."""
    known = [each for each in ways if each is not None]
    if len(known) < len(ways) or not known:
        return
    for site, step in known[0].mixing.items():
        if all(site in each.mixing for each in known) and not (way.halved and step.how == "recurrent"):
            found.mixing[site] = step
    for each in known:
        for tokens, inner in each.starts.items():
            moved = {_Way(way.start + one.start, way.halved or one.halved, way.hidden or one.hidden) for one in inner}
            found.starts.setdefault(tokens, set()).update(moved)


def _before(made: Making, way: _Way, seeing: Seeing, found: Found) -> Iterator[tuple[Value, _Way]]:
    """What the places of a result are made of, each with how that was gone through."""
    name = made.name
    if name == "[]":
        begins = shifting.first_place(made)
        if begins is None:
            return
        since, first = begins
        ahead = way._replace(start=way.start + first, halved=way.halved or _takes_features(made))
        if since is None:
            yield made.args[0], ahead
        else:
            whole = comparing.made_of(made.args[0])
            found.starts.setdefault((whole or made.args[0], since), set()).add(ahead)
    elif name in _CUTTING:
        yield made.args[0], way._replace(halved=True)
    elif name in padding.JOINING:
        yield from ((part, way) for part in _features(made))
    elif name in comparing.PRODUCTS:
        yield from ((part, way) for part in attending.values(made))
    elif name == ATTENTION:
        query, values = argument(made, 0, "query"), argument(made, 2, "value")
        if query is not None and values is not None and attending.related(query, values):
            yield values, way
    elif made in seeing.layers:
        yield seeing.layers[made].given, way
    elif name in _LAYERS or padding.arranges(made):
        yield from ((part, way) for part in made.args[:1])
    elif (row := shifting.row_of(made)) is not None:
        yield row, way
    elif name in _SAME:
        way = way._replace(hidden=False) if name in _PROJECTING or name in unmasked.RECURRENT else way
        tensors = [part for part in made.args if isinstance(part, (Tensor, Unknown))]
        hides = name in _HIDING and len(tensors) > 1
        yield from ((part, way._replace(hidden=way.hidden or hides)) for part in tensors)


def _takes_features(made: Making) -> bool:
    """Whether an item leaves out some of the last dimension."""
    parts = made.of.items if isinstance(made.of, p.Display) and made.of.kind == "tuple" else ()
    last = parts[-1] if len(parts) > 1 else None
    dots = any(isinstance(part, p.Const) and part.value is Ellipsis for part in parts)
    bounded = isinstance(last, p.Slice) and not (last.lower is last.upper is None)
    return bounded and (dots or len(parts) >= _BATCHED)


def _features(made: Making) -> Iterator[Value]:
    """The parts whose features are put side by side."""
    rows = made.args[0] if made.args else None
    dim = argument(made, 1, "dim") or Const(0)
    if not isinstance(rows, Sequence) or not isinstance(dim, Const) or dim.value not in (-1, 2):
        return
    for part in rows.content.all():
        inner = comparing.made_of(part)
        computed = inner is not None and (
            inner.name.startswith("nn.") or inner.name in comparing.PRODUCTS or inner.name == ATTENTION
        )
        if computed:
            yield part


def _cuts(value: Value) -> Iterator[tuple[Making | Value, int]]:
    """What was cut into stretches on the way to targets, with the dimension of each cut."""
    for _ in range(_FAR):
        made = comparing.made_of(value)
        if made is None or not made.args:
            return
        if made.name == "[]":
            dim = _cut_along(made)
            if dim is not None:
                inner = comparing.made_of(made.args[0])
                yield inner or made.args[0], dim
        row = shifting.row_of(made)
        if row is None and made.name != "[]" and not padding.arranges(made):
            return
        value = made.args[0] if row is None else row


def _cut_along(made: Making) -> int | None:
    """The dimension of the only stretch that an item takes, counted from the first; from the last one behind an ellipsis."""
    parts = made.of.items if isinstance(made.of, p.Display) and made.of.kind == "tuple" else (made.of,)
    bounded = [
        n for n, part in enumerate(parts) if isinstance(part, p.Slice) and not (part.lower is part.upper is None)
    ]
    if len(bounded) != 1:
        return None
    dots = [n for n, part in enumerate(parts) if isinstance(part, p.Const) and part.value is Ellipsis]
    return bounded[0] - len(parts) if dots and dots[0] < bounded[0] else bounded[0]


def _follows(at: At, compared: Line, times: Mapping[Making | Value, int], sizes: SizesOf) -> bool:
    """Whether a dimension of a tensor is the one along which the targets are the next elements."""
    waiting, seen = [at], set[tuple[object, int]]()
    while waiting and len(seen) < _FAR:
        each = waiting.pop(0)
        made = comparing.made_of(each.value)
        key = made or each.value
        if (key, each.place) in seen:
            continue
        seen.add((key, each.place))
        shape = sizes(each.value)
        rank = len(shape) if shape is not None else each.rank
        if key in times and key in compared.starts and _is_at(times[key], each.place, rank):
            return True
        if made is None or not made.args:
            continue
        if made.name == "[]" and (cut := _cut_along(made)) is not None and _is_at(cut, each.place, rank):
            whole = comparing.made_of(made.args[0]) or made.args[0]
            begins = shifting.first_place(made)
            tokens: Tokens = whole if begins is None or begins[0] is None else (whole, begins[0])
            if tokens in compared.starts:
                return True
        waiting += _earlier(made, each._replace(rank=rank), sizes)
    return False


def _is_at(dim: int, place: int, rank: int | None) -> bool:
    return dim == place if dim < 0 else rank is not None and dim == rank + place


def _earlier(made: Making, at: At, sizes: SizesOf) -> Iterator[At]:
    """Where a dimension was in what a tensor was made of."""
    name, first = made.name, made.args[0]
    if name == "either":
        yield from (at._replace(value=part) for part in made.args)
    elif name in ("nn.Embedding", "embedding"):
        if at.place < -1:
            yield At(first, at.place + 1, None if at.rank is None else at.rank - 1)
    elif (row := first if name == "batch" else shifting.row_of(made)) is not None:
        several = name == "batch" or isinstance(first, Sequence)
        if not several or (at.rank is not None and at.place > -at.rank):
            rank = None if at.rank is None else at.rank - several
            yield At(row, at.place, rank)
    elif name in padding.JOINING or name in _CUTTING:
        parts = first.content.all() if isinstance(first, Sequence) else (first,)
        yield from (at._replace(value=part) for part in parts[:1] if at.place != -1)
    elif name in comparing.PRODUCTS:
        found = comparing.factors(made)
        if found is not None and at.place == -2:
            yield At(found.left, -2, found.ranks[0])
    elif name in _SAME or name in _LAYERS or name == ATTENTION:
        moves = name in _PROJECTING or name in unmasked.RECURRENT
        if at.place == -1 and moves:
            return
        rank = _BATCHED if name in _RANKED else at.rank
        yield from (at._replace(value=part, rank=rank) for part in made.args if isinstance(part, (Tensor, Unknown)))
    else:
        earlier = before(made, at, sizes)
        if earlier is not None and earlier.exact:
            yield earlier
        elif earlier is None and padding.arranges(made) and name in _PLAIN:
            yield at._replace(value=first)


_RANKED: Final = frozenset((*unmasked.RECURRENT, *_LAYERS))
_PLAIN: Final = frozenset(
    words("contiguous clone detach pin_memory data long int type to cuda cpu float double half requires_grad_ Variable")
)
