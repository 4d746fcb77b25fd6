"""What the elements of a mask that are True mark: tokens, padding, what comes before or after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.domains import padding
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, Module, Plain, Sequence, Tensor, Value
from torch_doctor.static.values.symbols import LENGTH

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

TOKENS: Final = "tokens"
PADDING: Final = "padding"
PAST: Final = "past"
FUTURE: Final = "future"
USED: Final = frozenset((TOKENS, PAST))
"""What attention is to use; the others are what it is to leave out."""
_OPPOSITE: Final = {TOKENS: PADDING, PADDING: TOKENS, PAST: FUTURE, FUTURE: PAST}
_EQUAL: Final = frozenset(("==", "eq"))
_UNEQUAL: Final = frozenset(words("!= ne not_equal"))
_BEFORE: Final = frozenset(words("< <= lt less le less_equal"))
_BEHIND: Final = frozenset(words("> >= gt greater ge greater_equal"))
_NEGATIONS: Final = frozenset(words("~ logical_not bitwise_not"))
_BOTH: Final = frozenset(words("& logical_and bitwise_and *"))
_EITHER: Final = frozenset(words("| logical_or bitwise_or"))
_KEEPING: Final = frozenset(words("bool float byte int long half to type expand expand_as repeat broadcast_to cuda"))
_FARTHEST: Final = 40
"""Steps that are followed back."""


class Mask(Struct, frozen=True, eq=False):
    """What is True in a mask, where it was computed, and which tokens were compared with which number."""

    marks: str
    site: Site | None = None
    tokens: Value | None = None
    number: Value | None = None


class Masks(Domain[Mask | None]):
    """What is True in a mask: None where that is not known.

    Tokens that are compared with one number mark padding if that number is the one for padding, which only somebody knows
    who sees what else is done with them. What is compared with lengths, or made by `tril` and `triu`, is known by itself.
    """

    numbers = True

    def unknown(self) -> Mask | None:
        """None."""
        return None

    def join(self, left: Mask | None, right: Mask | None) -> Mask | None:
        """What both ways mark."""
        return left if left is not None and right is not None and left.marks == right.marks else None

    def read(self, made: Making) -> Mask | None:
        """Comparisons, and what turns, moves or combines masks."""
        name, args = made.name, made.args
        if name in ("tril", "triu"):
            return _triangle(made)
        if name in _NEGATIONS and args:
            return _turned(self.of(args[0]))
        if len(args) > 1:
            if name in _EQUAL or name in _UNEQUAL:
                return self._compared(made, equal=name in _EQUAL)
            if name in _BEFORE or name in _BEHIND:
                return _measured(made, before=name in _BEFORE)
            if name in _BOTH or name in _EITHER:
                return self._combined(args[0], args[1], used=name in _BOTH)
            if name == "-" and _number(args[0]) == 1:
                return _turned(self.of(args[1]))
            if name == "[]" and _is_view(made.of):
                return self.of(args[0])
        if args and (name in _KEEPING or (name != "[]" and padding.arranges(made))):
            return self.of(args[0])
        return None

    def _compared(self, made: Making, *, equal: bool) -> Mask | None:
        """A mask that is compared with 0 or 1, or tokens with the one for padding."""
        for one, other in (made.args[:2], made.args[1::-1]):
            mask, number = self.of(one), _number(other)
            if mask is not None:
                if number not in (0, 1):
                    return None
                return mask if equal is (number == 1) else _turned(mask)
            if isinstance(one, Tensor) and isinstance(other, (Const, Plain)):
                return Mask(PADDING if equal else TOKENS, made.site, one, other)
        return None

    def _combined(self, one: Value, other: Value, *, used: bool) -> Mask | None:
        """Two masks that both mark what is used, or both what is left out; that of the tokens is the one to tell of."""
        masks = [mask for mask in (self.of(one), self.of(other)) if mask is not None and (mask.marks in USED) is used]
        return min(masks, key=lambda mask: mask.tokens is None) if len(masks) == 2 else None


def is_of(run: Run, mask: Mask, sequence: Value | None, *, told: bool) -> bool:
    """Whether a mask marks padding of what is computed from these tokens by an embedding, or the order of elements.

    The number that the tokens are compared with is the one for padding if a layer says so (`told`), the embedding or what
    padded the tokens; 0 is taken for it.
    """
    if mask.tokens is None:
        return True
    tokens = _bare(mask.tokens)
    embedding = None if sequence is None else _embedding_of(tokens, sequence)
    if embedding is None:
        return False
    padded = run.ask(Padded, tokens)
    fills = [_padding_index(embedding.of), None if padded is None else padded.fill, Const(0)]
    return told or any(each is not None and _is_equal(each, mask.number) for each in fills)


def _embedding_of(tokens: Value, sequence: Value) -> Making | None:
    """How an embedding of these tokens was made that went into a sequence."""
    waiting, seen = [sequence], 0
    while waiting and seen < _FARTHEST:
        made = made_of(waiting.pop(0))
        seen += 1
        if made is None:
            continue
        if made.name in ("nn.Embedding", "embedding") and any(_same(_bare(each), tokens) for each in made.args[:1]):
            return made
        waiting += made.args
    return None


def _padding_index(layer: object) -> Value | None:
    if not isinstance(layer, Module):
        return None
    return layer.given[2] if len(layer.given) > 2 else layer.settings.get("padding_idx")


def _is_equal(one: Value, other: Value | None) -> bool:
    if isinstance(one, Const):
        return isinstance(other, Const) and one.value == other.value
    return isinstance(one, Plain) and isinstance(other, Plain) and one.symbol == other.symbol


def _same(one: Value, other: Value) -> bool:
    made = made_of(one)
    return one is other or (made is not None and made is made_of(other))


def _bare(value: Value) -> Value:
    """Tokens before they were moved or arranged in another way."""
    made = made_of(value)
    while made is not None and made.args and (made.name in _KEEPING or made.name == "[]" or padding.arranges(made)):
        if made.name == "[]" and not _is_view(made.of):
            break
        value = made.args[0]
        made = made_of(value)
    return value


def _turned(mask: Mask | None) -> Mask | None:
    return None if mask is None else replace(mask, marks=_OPPOSITE[mask.marks])


def _number(value: Value) -> object:
    return value.value if isinstance(value, Const) and isinstance(value.value, (int, float)) else None


def _triangle(made: Making) -> Mask | None:
    """`tril` of ones marks the past and the element itself, `triu` of ones above the diagonal what comes later."""
    ones = made_of(made.args[0]) if made.args else None
    filled = None if ones is None else padding.filled_with(ones)
    given = made.args[1] if len(made.args) > 1 else made.keywords.get("diagonal", Const(0))
    if filled is None or _number(filled) != 1 or _number(given) != (0 if made.name == "tril" else 1):
        return None
    return Mask(PAST if made.name == "tril" else FUTURE, made.site)


def _measured(made: Making, *, before: bool) -> Mask | None:
    """Positions that are compared with the lengths of the sequences."""
    left, right = made.args[:2]
    if _counts(right) and _is_lengths(left):
        before = not before
    elif not (_counts(left) and _is_lengths(right)):
        return None
    return Mask(TOKENS if before else PADDING, made.site)


def _counts(value: Value) -> bool:
    """Whether these are positions: `torch.arange(n)`, in whatever form."""
    made = made_of(_bare(value))
    return made is not None and made.name == "arange"


def _is_lengths(value: Value) -> bool:
    """Whether these are lengths: a tensor of what `len` gave, or of how many tokens are no padding."""
    made = made_of(_bare(value))
    if made is None or not made.args:
        return False
    first = made.args[0]
    if made.name == "sum":
        counted = made_of(_bare(first))
        return counted is not None and counted.name in _UNEQUAL
    items = first.content.all() if isinstance(first, Sequence) and made.name in padding.TENSORS else ()
    return bool(items) and all(isinstance(each, Plain) and each.symbol[0] == LENGTH for each in items)


def _is_view(key: object) -> bool:
    """Whether an index only adds dimensions, or takes slices."""
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    return all(isinstance(part, p.Slice) or (isinstance(part, p.Const) and part.value in (None, ...)) for part in parts)
