"""Which tokens the scores of a place are made of, and by how many places targets are ahead of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import words
from torch_doctor.static.training import padding, unmasked
from torch_doctor.static.values import Const, Making, Module, Sequence, Tensor, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

Tokens: TypeAlias = "Making | Value"
"""What a tensor of tokens is known again by: how it was made, else itself."""

_MIXING: Final = frozenset(
    f"nn.{name}" for name in words("TransformerEncoder TransformerEncoderLayer MultiheadAttention")
)
_EACH_PLACE: Final = unmasked.EACH_PLACE - {"nn.TransformerDecoder", "nn.TransformerDecoderLayer"}
_MOVES_PLACES: Final = frozenset(
    words("view reshape flatten ravel transpose permute t T swapaxes swapdims movedim moveaxis view_as reshape_as")
)
_FAR: Final = 80


class Line(Struct, frozen=True, eq=False):
    """The tensors that a place of a value is made of, each with the first of its places that is used, and in how many cuts.

    `causal`: on the way something goes forward only, and nothing looks ahead. `cut`: some places were left out.
    """

    starts: dict[Tokens, tuple[int, int]]
    causal: bool
    cut: bool


def line(value: Value, masked: AbstractSet[Making], *, through: bool = True) -> Line | None:
    """What the places of a value are made of; None where that cannot be told. `masked` is how attention was made that got a mask.

    Not `through`: only what has the same numbers, arranged in another way.
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
            continue
        starts[made] = (start, cuts)
        if made.name == "[]":
            first = _start(made)
            if first is None:
                continue  # what it is a part of has other places
            cut = True
            waiting.append((made.args[0], start + first, cuts + bool(first)))
            continue
        if cut and not through and made.name in _MOVES_PLACES:
            return None  # the places were counted in another order
        if padding.arranges(made):
            waiting.append((made.args[0], start, cuts))
        elif through and made.name in _EACH_PLACE:
            if made.name in unmasked.RECURRENT:
                if not _forward_only(made):
                    return None
                causal = True
            elif made.name in _MIXING:
                if made not in masked:
                    return None
                causal = True
            waiting += [(part, start, cuts) for part in made.args if isinstance(part, (Tensor, Unknown))]
    return None


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
    value = Tensor(meta=tokens) if isinstance(tokens, Making) else tokens
    return isinstance(value, Unknown) or measured(value).dtype in ("int64", "")


def _forward_only(made: Making) -> bool:
    layer = made.of
    if not isinstance(layer, Module):
        return False
    place = 7 if made.name == "nn.RNN" else 6
    both = layer.given[place] if len(layer.given) > place else layer.settings.get("bidirectional", Const(value=False))
    return isinstance(both, Const) and not both.value


def _start(made: Making) -> int | None:
    """The first place that an item begins with, of the first two dimensions; None for anything but stretches."""
    key, index = made.of, made.args[1]
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    values = index.content.items if parts != (key,) and isinstance(index, Sequence) else (index,)
    if len(parts) != len(values):
        return None
    start = 0
    for part, value in zip(parts, values, strict=True):
        if isinstance(value, Const) and value.value is Ellipsis:
            continue
        if not isinstance(part, p.Slice) or part.step is not None:
            return None
        if part.lower is not None:
            if not isinstance(part.lower, p.Const) or type(part.lower.value) is not int or part.lower.value < 0:
                return None
            start += part.lower.value
        if part.upper is not None and not padding.is_number(part.upper):
            return None
    return start
