"""Tensors that were padded: which, with what, and whether they still are as they were then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.measuring import measured
from torch_doctor.static.state import per_path
from torch_doctor.static.tables import words
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.values import ARRAY, Const, Either, Fact, Making, Plain, Sequence, Tensor, Value, number_dtype
from torch_doctor.static.values.symbols import LENGTH, UNTOLD

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static.values import Symbol
    from torch_doctor.trace import Site

TOKENIZED: Final = "tokenized"
"""Names how the tokens are made that a tokenizer has padded; `of` is what with."""
FILLED: Final = "filled up"
"""Names how a row is made that the script itself has filled up to a length; `of` is what with."""
PADDED: Final = "pad"
"""Names how a tensor is made that `torch.nn.functional.pad` makes longer."""
PADS: Final = frozenset(("pad_sequence", TOKENIZED, FILLED))
"""Functions that put sequences side by side, the shorter ones padded, and names of what does the same."""
JOINING: Final = frozenset(words("cat concat concatenate"))
"""Functions that put a row, and what fills it up, one behind the other."""
JOINED: Final = JOINING | frozenset(words("hstack vstack"))
"""Functions that put tensors one behind the other: where all of them are padded alike, so is the result."""
FUNCTIONS: Final = PADS | {PADDED}
"""Functions that pad, where and how much their arguments say."""
_MAKERS: Final = {name: Const(0) for name in words("zeros new_zeros zeros_like")} | {
    "ones": Const(1),
    "new_ones": Const(1),
}
_FILLING: Final = {"full": 1, "new_full": 2, "full_like": 1}
"""Functions that fill a tensor with the argument at this place."""
ARRANGING: Final = frozenset(
    (
        *MOVES,
        *words(
            """
            view reshape flatten ravel contiguous clone detach pin_memory data long int type squeeze unsqueeze t T
            transpose swapaxes swapdims permute movedim moveaxis requires_grad_ batch unbind Variable view_as reshape_as
            """
        ),
    )
)
"""How a tensor is made that has the numbers of another, all of them, perhaps in another order of the dimensions."""


TENSORS: Final = frozenset(words("tensor as_tensor asarray from_numpy LongTensor IntTensor Tensor stack array"))
"""Functions that make a tensor of rows, or of an array."""


class Padding(Struct, frozen=True, eq=False):
    """How a tensor was padded: where, and with what (None: not known). `made` is how it was made, by which it is known again."""

    made: Making
    site: Site
    fill: Value | None


class Padded(Domain[Padding | None]):
    """How a value was padded whose padding is still all there; None for any other.

    A part of it between bounds that the source does not give may be what lies before the padding.
    """

    numbers = True

    filled: MutableMapping[Making, Making] = per_path(dict)
    """How a tensor was made in which rows were put as far as they go, and how it is filled up since."""

    def unknown(self) -> Padding | None:
        """None."""
        return None

    def join(self, left: Padding | None, right: Padding | None) -> Padding | None:
        """The padding that both ways made."""
        return left if left is not None and right is not None and left.made is right.made else None

    def record(self, value: Value) -> Making | None:
        """How a tensor was made, or an array; a list of rows as one of them, where all are alike."""
        made = _making(value)
        return self.filled.get(made, made) if isinstance(made, Making) else None

    def lasting(self, value: Value) -> Making | None:
        """A record of a padded value that holds as well where the writes of this path are forgotten; None of any other."""
        made = self.record(value)
        found = None if made is None else self.of(value)
        if found is None or found.made.name != FILLED:
            return made
        return Making(FILLED, (Tensor(meta=measured(value)),), found.made.keywords, of=found.fill, site=found.site)

    def read(self, made: Making) -> Padding | None:
        """What pads, and what only arranges the numbers of something padded."""
        if made.name in PADS or _pads_row(made):
            return None if made.site is None else Padding(made, made.site, _fill(made))
        if made.args and (arranges(made) or made.name in TENSORS):
            return self.of(made.args[0])
        return None


def _pads_row(made: Making) -> bool:
    """Whether this is `pad` by as much as a row is too short, or puts so many numbers beside it."""
    if made.name in JOINING:
        return _joined_with(made) is not None
    given = (made.args[1] if len(made.args) > 1 else made.keywords.get("pad")) if made.name == PADDED else None
    amounts = given.content.items if isinstance(given, Sequence) else ()
    return any(isinstance(each, Plain) and is_missing(each.symbol) and not _up_to_output(each) for each in amounts)


def _up_to_output(amount: Plain) -> bool:
    """Whether a row is made as long as what a model has put out: each place is one that the model has to say something about."""
    longer = amount.symbol[1]
    while longer[0] in (LENGTH, "[]"):
        longer = longer[1]
    made = longer[1] if longer[0] == UNTOLD else None
    return isinstance(made, Making) and any(isinstance(each, Tensor) and bool(each.flow.modules) for each in made.args)


def _joined_with(made: Making) -> Value | None:
    """What a row is filled up with to which as many numbers are joined as it is too short; None of any other."""
    rows = made.args[0] if made.args and made.name in JOINING else None
    for row in rows.content.items if isinstance(rows, Sequence) and rows.content.rest is None else ():
        by = row.meta if isinstance(row, Tensor) else None
        while isinstance(by, Making) and by.args and arranges(by):
            by = by.args[0].meta if isinstance(by.args[0], Tensor) else None
        if isinstance(by, Making) and any(map(_is_short_by, by.args)) and (fill := filled_with(by)) is not None:
            return fill
    return None


def filled_with(made: Making) -> Value | None:
    """What a tensor was filled with where it was made; None for any other one."""
    place = _FILLING.get(made.name)
    if place is None:
        return _MAKERS.get(made.name)
    return made.args[place] if len(made.args) > place else made.keywords.get("fill_value")


def _is_short_by(size: Value) -> bool:
    """Whether a size, or the only one, says by how much a row is too short."""
    if isinstance(size, Sequence):
        return len(size.content.items) == 1 and _is_short_by(size.content.items[0])
    return isinstance(size, Plain) and is_missing(size.symbol)


def is_missing(symbol: Symbol) -> bool:
    """Whether a number says by how much a row is too short: one less its length, or 0."""
    if symbol[0] == "max":
        return any(isinstance(part, tuple) and is_missing(part) for part in symbol[1:])
    return symbol[0] == "-" and len(symbol) == 3 and symbol[2][0] == LENGTH


def _making(value: Value) -> object:
    """How a tensor was made, or an array; a list of rows as one of them, where all are alike."""
    if isinstance(value, Either):
        return _of_lengths(value)
    if isinstance(value, Sequence):
        return value.fact(Fact.FILLED_UP) or _alike([_making(each) for each in value.content.all()])
    if isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY:
        value = value.size.args[0]
    return value.meta if isinstance(value, Tensor) else None


def _of_lengths(value: Either) -> object:
    """How a row was made that is filled up where a test of lengths says that it is too short."""
    made = [_making(option) for _, option in value.options]
    filled = [each for each in made if isinstance(each, Making) and (each.name == FILLED or _pads_row(each))]
    tests = [symbol for conditions, _ in value.options for symbol, _ in conditions]
    return filled[0] if len(filled) == 1 and tests and all(map(_of_length, tests)) else None


def _of_length(symbol: Symbol) -> bool:
    """Whether the length of something is in a test."""
    return symbol[0] == LENGTH or any(isinstance(part, tuple) and bool(part) and _of_length(part) for part in symbol)


def _alike(made: list[object]) -> object:
    """How rows were made that one place in the source makes; None for others."""
    sites = {each.site if isinstance(each, Making) else None for each in made}
    return made[0] if made and (len(made) == 1 or (len(sites) == 1 and None not in sites)) else None


def arranges(made: Making) -> bool:
    """Whether it leaves the numbers of a padded tensor what they are, those of the padding among them."""
    return made.name in ARRANGING if made.name != "[]" else _keeps_ends(made)


def _keeps_ends(made: Making) -> bool:
    """Whether an item of a tensor has padding in it as the whole has: the bounds are numbers that the source gives."""
    key = made.of
    parts = key.items if isinstance(key, p.Display) and key.kind == "tuple" else (key,)
    index = made.args[1]
    values = index.content.items if parts != (key,) and isinstance(index, Sequence) else (index,)
    if values and _takes_rows(values[0]) and (len(values) > 1 or _has_rows(made.args[0])):
        parts, values = parts[1:], values[1:]
    return len(values) == len(parts) and all(map(_is_certain, parts, values))


def _has_rows(value: Value) -> bool:
    """Whether a tensor has more dimensions than one: by its shape, or as it was made of a list of rows."""
    by = value.meta if isinstance(value, Tensor) else None
    given = by.args[0] if isinstance(by, Making) and by.name in TENSORS and by.args else None
    listed = isinstance(given, Sequence) and given.fact(Fact.FILLED_UP) is None
    return listed or len(measured(value).shape or ()) > 1


def _takes_rows(value: Value) -> bool:
    """Whether an index along the first dimension is a tensor or an array of numbers, which takes complete rows; no mask."""
    if isinstance(value, Plain) and value.size is not None and value.size.name == ARRAY:
        value = value.size.args[0]
    return isinstance(value, Tensor) and measured(value).dtype in ("int64", "int32")


def _is_certain(part: object, value: Value) -> bool:
    """Whether a part of the places reaches to the padding: what begins with the first ones and ends soon may lie before it."""
    if isinstance(part, p.Slice):
        bounds = (part.lower, part.upper, part.step)
        return not isinstance(part.upper, p.Const) and all(each is None or is_number(each) for each in bounds)
    if isinstance(value, Const):
        return value.value is None or value.value is Ellipsis or (isinstance(value.value, int) and value.value < 0)
    return number_dtype(value) == "int64"


def is_number(bound: p.Expr) -> bool:
    """Whether the source gives a bound as a number, from the end too."""
    if isinstance(bound, p.Operation) and len(bound.operands) == 1:
        return isinstance(bound.operands[0], p.Const)
    return isinstance(bound, p.Const)


def _fill(made: Making) -> Value | None:
    """What the shorter sequences are filled up with."""
    if made.name in (TOKENIZED, FILLED):
        return made.of if isinstance(made.of, Value) else None
    if made.name in JOINING:
        return _joined_with(made)
    if "**" in made.keywords:
        return None
    place, name = (3, "value") if made.name == PADDED else (2, "padding_value")
    given = made.args[place] if len(made.args) > place else made.keywords.get(name)
    return Const(0) if given is None else given
