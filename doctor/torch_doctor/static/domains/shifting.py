"""Which tokens the scores of a place are made of, and by how many places targets are ahead of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.domains import padding, unmasked
from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import words
from torch_doctor.static.training.loss.language_models import SCORES
from torch_doctor.static.values import (
    ARRAY,
    Const,
    Making,
    Module,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    fresh_symbol,
    symbol_of,
)
from torch_doctor.static.values.symbols import SLICE

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from torch_doctor.static.values import Symbol
    from torch_doctor.trace import Tri

Tokens: TypeAlias = "Making | Value | tuple[Making | Value, Symbol]"
"""What a tensor of tokens is known again by: how it was made, else itself; and the place in it, not known, where it begins."""

_MIXING: Final = frozenset(
    f"nn.{name}" for name in words("TransformerEncoder TransformerEncoderLayer MultiheadAttention")
)
_EACH_PLACE: Final = unmasked.EACH_PLACE - {"nn.TransformerDecoder", "nn.TransformerDecoderLayer"}
_MOVES_PLACES: Final = frozenset(
    words("view reshape flatten ravel transpose permute t T swapaxes swapdims movedim moveaxis view_as reshape_as")
)
_OF_PATHS: Final = "either"
_FAR: Final = 80
_DEEP: Final = 4


class Line(Struct, frozen=True, eq=False):
    """The tensors that a place of a value is made of, each with the first of its places that is used, and in how many cuts.

    `causal`: on the way something goes forward only, and nothing looks ahead. `cut`: some places were left out.
    """

    starts: dict[Tokens, tuple[int, int]]
    causal: bool
    cut: bool


def line(value: Value, masked: AbstractSet[Making], *, through: bool = True, deep: int = 0) -> Line | None:
    """What the places of a value are made of; None where that cannot be told. `masked` is how attention was made that got a mask.

    Not `through`: only what has the same numbers, arranged in another way. Of values that come of several paths it is what
    is true of all; `deep` counts those that are inside each other.
    """
    starts: dict[Tokens, tuple[int, int]] = {}
    waiting: list[tuple[Value, int, int]] = [(value, 0, 0)]
    causal = cut = False
    for _ in range(_FAR):
        if not waiting:
            return Line(starts, causal, cut)
        each, start, cuts = waiting.pop(0)
        made = each.meta if isinstance(each, Tensor) else None
        if not isinstance(made, Making):
            if isinstance(each, (Tensor, Unknown)):
                starts.setdefault(each, (start, cuts))
            continue
        if made in starts:
            if starts[made][0] != start:
                return None  # neighbours are mixed there
            continue
        starts[made] = (start, cuts)
        if made.name == "[]":
            found = first_place(made)
            if found is None:
                if (row := _row_at(made)) is not None:
                    starts.setdefault(row, starts.pop(made))
                continue  # what it is a part of has other places
            cut = True
            since, first = found
            if since is None:
                waiting.append((made.args[0], start + first, cuts + bool(first)))
            else:
                starts.setdefault((_made(made.args[0]), since), (start + first, cuts + 1))
            continue
        if cut and not through and made.name in _MOVES_PLACES:
            return None  # the places were counted in another order
        moved, begins = (None, row_of(made)) if through else (_rolled(made), _filled_behind(made) or row_of(made))
        if begins is not None:
            waiting.append((begins, start, cuts))
        elif made.args and (moved is not None or padding.arranges(made)):
            waiting.append((made.args[0], start + (moved or 0), cuts + bool(moved)))
        elif made.name == _OF_PATHS and deep < _DEEP and (through or not cut):
            common = _common([line(part, masked, through=through, deep=deep + 1) for part in made.args])
            if common is None:
                return None
            for tokens, (first, many) in common.starts.items():
                starts.setdefault(tokens, (start + first, cuts + many))
            causal, cut = causal or common.causal, cut or common.cut
        elif through and made.name == SCORES:
            causal = True
            waiting.append((made.args[0], start, cuts))
        elif through and made.name in _EACH_PLACE:
            forward = _goes_forward(made, masked)
            if forward is None:
                return None
            causal = causal or forward
            waiting += [(part, start, cuts) for part in made.args if isinstance(part, (Tensor, Unknown))]
    return None


def _made(value: Value) -> Making | Value:
    return value.meta if isinstance(value, Tensor) and isinstance(value.meta, Making) else value


def _row_at(made: Making) -> Tokens | None:
    """One row of a tensor, by the tensor and the index; None for other items."""
    index = made.args[1]
    one = isinstance(index, (Plain, Const)) and not isinstance(made.of, (p.Slice, p.Display))
    return (_made(made.args[0]), symbol_of(index)) if one else None


def is_row(value: Value) -> bool:
    """Whether a value is one row of a tensor."""
    made = value.meta if isinstance(value, Tensor) else None
    return isinstance(made, Making) and made.name == "[]" and _row_at(made) is not None


def row_of(made: Making) -> Value | None:
    """The row that stands for all of which a tensor was made, or the array; None for a tensor that was made of something else."""
    given = made.args[0] if made.name in padding.TENSORS and made.args else None
    dim = argument(made, 1, "dim") if made.name == "stack" else None
    if dim is not None and not (isinstance(dim, Const) and dim.value == 0):
        return None
    if isinstance(given, Sequence):
        return given.content.rest if not given.content.items else None
    if isinstance(given, Plain) and given.size is not None and given.size.name == ARRAY:
        return given.size.args[0]
    return given if isinstance(given, Tensor) else None


def all_but_the_last(key: Value) -> bool:
    """Whether an index takes all places of each row but the last one: `[:, :-1]`."""
    parts = key.content.items if isinstance(key, Sequence) else ()
    symbols = [part.symbol if isinstance(part, Plain) else ("",) for part in parts]
    nothing = symbol_of(Const(None))
    return bool(symbols) and symbols == [
        *((SLICE, nothing, nothing, nothing) for _ in symbols[1:]),
        (SLICE, nothing, symbol_of(Const(-1)), nothing),
    ]


def _rolled(made: Making) -> int | None:
    """By how many places `roll` moves the tokens of each row forward; None for anything else."""
    if made.name != "roll":
        return None
    by, dim = (
        made.args[place] if len(made.args) > place else made.keywords.get(name)
        for place, name in ((1, "shifts"), (2, "dims"))
    )
    along = isinstance(dim, Const) and dim.value in (1, -1)
    return -by.value if along and isinstance(by, Const) and type(by.value) is int else None


def _filled_behind(made: Making) -> Value | None:
    """The later places of rows behind which something else is joined, so that they have come forward; None for anything else."""
    rows = made.args[0] if made.args and made.name in padding.JOINING else None
    dim = made.args[1] if len(made.args) > 1 else made.keywords.get("dim")
    if not isinstance(rows, Sequence) or rows.content.rest is not None or not isinstance(dim, Const):
        return None
    first = rows.content.items[0] if len(rows.content.items) > 1 else None
    part = first.meta if isinstance(first, Tensor) else None
    since = first_place(part) if isinstance(part, Making) and part.name == "[]" and dim.value in (1, -1) else None
    return first if since is not None and since[0] is None and since[1] > 0 else None


def _goes_forward(made: Making, masked: AbstractSet[Making]) -> Tri:
    """Whether something tells later places of the ones before them, and none of a later one; None where one is."""
    if made.name in unmasked.RECURRENT:
        return True if _forward_only(made) else None
    if made.name in _MIXING:
        return True if made in masked else None
    return False


def _common(lines: list[Line | None]) -> Line | None:
    """What is true of all paths; what goes forward only on one of them looks ahead on none."""
    known = [each for each in lines if each is not None]
    if len(known) < len(lines) or not known:
        return None
    same = set(known[0].starts.items()).intersection(*(each.starts.items() for each in known))
    return Line(dict(same), any(each.causal for each in known), any(each.cut for each in known))


def ahead(scores: Line, target: Line, touched: AbstractSet[Tokens]) -> tuple[int, int] | None:
    """By how many places the targets are ahead of the tokens that the scores are made of, and in how many cuts.

    None where they are not the same tokens, or where some of them were overwritten.
    """
    for tokens, (start, cuts) in target.starts.items():
        if tokens in scores.starts and _are_tokens(tokens):
            if touched & set(target.starts) or touched & set(scores.starts):
                return None
            own, own_cuts = scores.starts[tokens]
            return start - own, cuts - own_cuts
    return None


def _are_tokens(tokens: Tokens) -> bool:
    if isinstance(tokens, tuple):
        return _are_tokens(tokens[0])
    value = Tensor(meta=tokens) if isinstance(tokens, Making) else tokens
    return isinstance(value, Unknown) or measured(value).dtype in ("int64", "")


def _forward_only(made: Making) -> bool:
    layer = made.of
    if not isinstance(layer, Module):
        return False
    place = 7 if made.name == "nn.RNN" else 6
    both = layer.given[place] if len(layer.given) > place else layer.settings.get("bidirectional", Const(value=False))
    return isinstance(both, Const) and not both.value


def is_stretch(value: Value) -> bool:
    """Whether a value is a stretch of something, or such stretches in a batch."""
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.name != "[]" and padding.arranges(made):
        first = made.args[0]
        made = first.meta if isinstance(first, Tensor) else None
    return isinstance(made, Making) and made.name == "[]" and first_place(made) is not None


def first_place(made: Making) -> tuple[Symbol | None, int] | None:
    """The first place that an item begins with, of the first two dimensions; None for anything but stretches.

    It is a number, counted from a place that the source does not give (None: from the first one).
    """
    key, index = made.of, made.args[1]
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    values = index.content.items if parts != (key,) and isinstance(index, Sequence) else (index,)
    if len(parts) != len(values):
        return None
    start, since = 0, None
    for part, value in zip(parts, values, strict=True):
        if isinstance(value, Const) and value.value is Ellipsis:
            continue
        if not isinstance(part, p.Slice) or part.step is not None:
            return None
        origin, number = _lower(part, value)
        if number < 0 or (origin is not None and since is not None):
            return None
        if origin is None and part.upper is not None and not padding.is_number(part.upper):
            return None
        start, since = start + number, origin or since
    return since, start


def _lower(part: p.Slice, value: Value) -> tuple[Symbol | None, int]:
    """The lower bound of a slice: a number more than something that is not known."""
    if part.lower is None:
        return None, 0
    if isinstance(part.lower, p.Const):
        return None, part.lower.value if type(part.lower.value) is int else -1
    bound: Symbol = value.symbol[1] if isinstance(value, Plain) and value.symbol[0] == SLICE else fresh_symbol()
    number = 0
    while bound[0] in ("+", "-") and len(bound) == 3 and bound[2][0] == "const" and type(bound[2][1]) is int:
        number += bound[2][1] if bound[0] == "+" else -bound[2][1]
        bound = bound[1]
    return (None, bound[1] + number if type(bound[1]) is int else -1) if bound[0] == "const" else (bound, number)
