"""The domain of sizes: how long each dimension of a tensor is, as a product of numbers and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from torch_doctor.static.domains.axes.saying import STATE, is_one_size, permuted, read_shape, saying, with_sizes
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.measuring import images, measured, size_at
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.measuring.core import EFFECTS
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import (
    Const,
    Content,
    Fact,
    Making,
    ParameterValue,
    Plain,
    Sequence,
    Spread,
    Tensor,
    Unknown,
    Value,
    shapes,
)
from torch_doctor.static.values.identity import symbol_of
from torch_doctor.static.values.shapes import Meta, Returned
from torch_doctor.static.values.symbols import LENGTH, UNTOLD
from torch_doctor.trace.amounts import ONE, Amount, amount, product

if TYPE_CHECKING:
    from collections.abc import Hashable

    from torch_doctor.static.values import Symbol
    from torch_doctor.static.values.shapes import Shape, Size

Amounts: TypeAlias = "tuple[Amount | None, ...] | None"
"""The sizes of a tensor's dimensions, None where one is not known; None where nobody knows how many there are."""

VIEWS: Final = frozenset(words("view reshape"))
"""What gives a tensor dimensions of these sizes, and leaves its elements in order."""
_SAME: Final = table.SAME | table.FLOATING | {"nn.Linear"} | {f"nn.{name}" for name in table.LAYERS_SAME}
"""What has as many dimensions as the first argument."""
_LONGER: Final = frozenset(("nn.Embedding",))
"""What has one more."""
_PARTS: Final = {"split": "split_size_or_sections", "chunk": "chunks"}
_SHRINKING: Final = {f"nn.{name}" for name in (*table.LAYERS_CHANNELS, *table.LAYERS_POOLS)} | {
    *images.EFFECTS,
    "repeat",
    "tile",
    "repeat_interleave",
} - {"embedding"}
"""What may leave one row and column of an image, or one element where nobody knows how often it is repeated."""
_REST: Final = -1
_WORD: Final = "size "


class Sizes(Domain[Amounts]):
    """The sizes of a tensor. Where the source does not say how long a dimension is, it has a name of its own.

    What an operation makes of sizes is what `measuring` makes of the words that stand for them here.
    """

    _words: dict[Amount, str] = per_run(dict)
    _amounts: dict[str, Amount] = per_run(dict)
    _asked: set[Hashable] = per_run(set)  # the names that the script reads from a shape
    _lasts: dict[Hashable, Amount | None] = per_run(dict)
    _ranks: dict[Hashable, int] = per_run(dict)  # by how a tensor is made, or the symbol of what may be one

    def unknown(self) -> Amounts:
        """None."""
        return None

    def record(self, value: Value) -> Making | None:
        """How a value was made, within the module that returned it too."""
        if isinstance(value, Tensor) and isinstance(value.meta, Returned):
            return value.meta.within
        return super().record(value)

    def given(self, value: Value) -> Amounts:
        """The sizes of a tensor that is not made of another one, as far as they are known."""
        if isinstance(value, Unknown):
            return self._ranked(value.symbol, ())
        if not isinstance(value, (Tensor, ParameterValue)):
            return None
        shape = measured(value).shape
        return None if shape is None or shapes.ANY in shape else tuple(map(self._amount, shape))

    def taken_apart(self, shape: Value, many: int) -> None:
        """A shape was assigned to so many names: as many dimensions its tensor has, unless another place says otherwise."""
        of = read_shape(shape)
        if of is not None:
            self.has_rank(of, many)

    def has_rank(self, value: Value, rank: int) -> None:
        """A tensor has so many dimensions, and so has what it was computed from; unless another place says otherwise."""
        key = self._key(value)
        if key is None or (isinstance(value, Tensor) and shapes.ANY not in (measured(value).shape or (shapes.ANY,))):
            return
        if self._ranks.get(key) in (rank, 0):
            return
        self._ranks[key] = 0 if key in self._ranks else rank
        self._answers.clear()
        made = self.record(value)
        if made is not None and made.args and (made.name in _SAME or made.name in _LONGER):
            self.has_rank(made.args[0], rank - (made.name in _LONGER))

    def ends_with(self, value: Value, size: Value) -> None:
        """The last dimension of a tensor is as long as this number, which a layer that takes it was given."""
        key, known = self._key(value), self.amount_of(size)
        if key is not None and known is not None:
            self._lasts[key] = known if self._lasts.get(key, known) == known else None
            self._answers.clear()

    def _key(self, value: Value) -> Hashable:
        return value.symbol if isinstance(value, Unknown) else self.record(value)

    def read(self, made: Making) -> Amounts:
        """What an operation makes of the sizes of its arguments."""
        if made.name in VIEWS:
            return self._viewed(made)
        effect = EFFECTS.get(made.name)
        if effect is None:
            return self.of(made.args[0]) if made.args else None
        if made.name == "permute" and (dims := permuted(made)):
            self.has_rank(made.args[0], len(dims))
        args = tuple(map(self._in_words, with_sizes(made)))
        keywords = {name: self._in_words(value) for name, value in made.keywords.items()}
        shape = effect(Making(made.name, args, keywords, made.of)).shape
        if shape is None or shapes.ANY in shape:
            return self._ranked(made, () if shape is None else shape[1:])
        if made.name == "[]" and shapes.BATCH not in (measured(made.args[0]).shape or ()):
            shape = tuple(None if size == shapes.BATCH else size for size in shape)  # of a stretch, that is a guess
        place, told = self._told(made, len(shape)) or (None, None)
        unsure = made.name.endswith(STATE)  # there may be one layer
        return tuple(
            self._amount(size)
            if size is not None or (unsure and at == 0)
            else (told if at == place else amount((made, at)))
            for at, size in enumerate(shape)
        )

    def may_be_one(self, size: Amount) -> bool:
        """Whether a dimension may have one element: a convolution or a repetition leaves it, and the script asks for no size."""
        made = (name[0] for name, _ in size.names if isinstance(name, tuple) and name not in self._asked)
        return any(isinstance(each, Making) and each.name in _SHRINKING for each in made)

    def amount_of(self, value: Value) -> Amount | None:
        """A number that is used as a size; None where nothing is known of it."""
        if isinstance(value, Const):
            size = value.value
            return amount(size) if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None
        if isinstance(value, Plain) and value.size is not None and value.size.name == "size":
            return self._size_of(value.size)
        return self._named(symbol_of(value)) if isinstance(value, (Plain, Unknown)) else None

    def written(self, made: Making) -> tuple[Value, ...] | None:
        """The sizes that are written in a call of `view` or `reshape`; None where nobody knows how many there are."""
        given = made.keywords.get("shape") or made.keywords.get("size")
        values = made.args[1:] if given is None else (given,)
        if len(values) == 1 and isinstance(values[0], Sequence):
            content = values[0].content
            return None if content.rest is not None else content.items
        if any(isinstance(each, Spread) for each in values) or (len(values) == 1 and not is_one_size(values[0])):
            return None
        return values

    def _told(self, made: Making, rank: int) -> tuple[int, Amount] | None:
        """The place and size of a dimension, where a layer's settings or an argument say how long it is; None where none does."""
        from_end, value, ways = saying(made)
        size = None if value is None else self.amount_of(value)
        if size is not None:
            return rank - from_end, size.times(amount(ways))
        if made.name not in _PARTS:
            return None
        length = argument(made, 1, _PARTS[made.name])
        whole, dim = self.of(made.args[0]), argument(made, 2, "dim")
        size = None if length is None else self.amount_of(length)
        place = 0 if dim is None else size_at(dim)
        if not isinstance(place, int) or not -rank <= place < rank or size is None:
            return None
        if made.name == "split":
            return place % rank, size
        all_of = None if whole is None else whole[place % rank]
        return None if all_of is None else (place % rank, all_of.times(size, -1))

    def _ranked(self, key: Hashable, last: Shape) -> Amounts:
        """The sizes of what has as many dimensions as its shape was taken apart into, of which the last ones may be known."""
        rank = self._ranks.get(key, 0)
        if rank < max(len(last), 1):
            return None
        first = rank - len(last)
        known = [None] * first + [self._amount(size) for size in last]
        known[-1] = known[-1] or self._lasts.get(key)
        return tuple(amount((key, place)) if size is None else size for place, size in enumerate(known))

    def _viewed(self, made: Making) -> Amounts:
        """The written sizes, of which -1 stands for what is left."""
        values = self.written(made)
        if values is None:
            return self._ranked(made, ())
        if len(values) == 1 and (of := read_shape(values[0])) is not None:
            return self.of(of)
        rest = [isinstance(value, Const) and value.value == _REST for value in values]
        sizes = [None if left else self.amount_of(value) for left, value in zip(rest, values, strict=True)]
        known = [size for size in sizes if size is not None]
        before = self.of(made.args[0])
        if rest.count(True) != 1 or len(known) < len(sizes) - 1 or before is None:
            return tuple(sizes)
        whole = [size for size in before if size is not None]
        left = product(whole).times(product(known), -1) if len(whole) == len(before) else None
        sizes[rest.index(True)] = left if left is not None and left.whole else None
        return tuple(sizes)

    def _size_of(self, size: Making) -> Amount | None:
        """One of the sizes of a tensor."""
        tensor, place = size.args[0], size.of
        whole = self.of(tensor)
        if not isinstance(place, int):
            return None
        if whole is None:
            key = self._key(tensor)
            return None if key is None or place < 0 else amount((key, place))
        found = whole[place] if -len(whole) <= place < len(whole) else None
        self._asked.update(name for name, _ in (ONE if found is None else found).names)
        return found

    def _item(self, of: Symbol, key: Symbol) -> Amount | None:
        """An item of a shape, or of a setting."""
        place = key[1]
        if of[0] == UNTOLD and isinstance(of[1], Making):
            return self._size_of(Making("size", of[1].args, of=place))
        if of[0] == "." and of[2] == "shape":
            sizes = self._ranked(of[1], ())
            return sizes[place] if sizes and isinstance(place, int) and -len(sizes) <= place < len(sizes) else None
        return amount(("[]", of, key))

    def _named(self, symbol: Symbol) -> Amount | None:
        """A setting, or what is computed of settings."""
        op, *parts = symbol
        if op == "[]" and parts[1][0] == "const":
            return self._item(*parts)
        if op == LENGTH and isinstance(parts[0], tuple):
            return self._named(parts[0])
        if op in (LENGTH, UNTOLD) and isinstance(parts[0], Making):
            return self._size_of(parts[0])
        if op == "const":
            return amount(parts[0]) if isinstance(parts[0], int) and not isinstance(parts[0], bool) else None
        if op in ("*", "//") and len(parts) == 2:
            left, right = (self._named(part) for part in parts)
            return None if left is None or right is None else _combined(op, left, right)
        return None if op in ("+", "-", "%", "/", "**", "size") else amount(symbol)

    def _amount(self, size: Size) -> Amount | None:
        if isinstance(size, str):
            return self._amounts.get(size) or amount(size)
        return None if size is None else amount(size)

    def _in_words(self, value: Value) -> Value:
        """A tensor whose unknown sizes are words; a number that is a size of one."""
        if isinstance(value, Sequence):
            items = tuple(map(self._in_words, value.content.items))
            copy = Sequence(value.kind, Content(items, value.content.rest))
            copy.facts[Fact.GROWN] = value.fact(Fact.GROWN)
            return copy
        if isinstance(value, Plain) and value.size is not None and value.size.name in ("size", "number"):
            size = self.amount_of(value)
            return value if size is None else Plain(value.symbol, Making("size", (self._tensor("", (size,)),), of=0))
        if not isinstance(value, (Tensor, Unknown)):
            return value
        sizes, meta = self.of(value), measured(value)
        return value if sizes is None else self._tensor(meta.dtype, sizes)

    def _tensor(self, dtype: str, sizes: tuple[Amount | None, ...]) -> Tensor:
        return Tensor(meta=Meta(dtype, tuple(None if size is None else self._word(size) for size in sizes)))

    def _word(self, size: Amount) -> Size:
        if not size.names and size.divisor == 1:
            return size.number
        if size == amount(shapes.BATCH):
            return shapes.BATCH
        word = self._words.setdefault(size, f"{_WORD}{len(self._words)}")
        self._amounts[word] = size
        return word


def _combined(op: str, left: Amount, right: Amount) -> Amount | None:
    """A product, or a quotient that is taken for exact."""
    if op == "//" and right.number == 0:
        return None
    return left.times(right, 1 if op == "*" else -1)
