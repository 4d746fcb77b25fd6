"""The dtype and shape of a tensor as far as the source shows them, and what operations make of a shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values.value import Args, Keywords, Value
    from torch_doctor.trace import Site

Size: TypeAlias = "int | str | None"
"""How long a dimension is: a number, a word (what has the same word is as long), or not known."""
Shape: TypeAlias = "tuple[Size, ...]"
"""Sizes of the dimensions in order; one that begins with `ANY` may have any number of others before."""

ANY: Final = "..."
BATCH: Final = "batch"
"""As many as the loader puts together: more than one."""


class Meta(Struct, frozen=True):
    """What is known of a tensor without its numbers.

    `dtype` is torch's name of it, "floating" where only that is known, "" where nothing is. `shape` is None where not even
    the number of dimensions is known.
    """

    dtype: str = ""
    shape: Shape | None = None


UNKNOWN_META: Final = Meta()
ARRAY: Final = "array"
"""Names how a plain value is made that is an array: of the tensor that torch would make of it."""
NUMEL: Final = "numel"
"""Names how a number is made that counts all numbers of a tensor."""
LONGEST = 200
"""Operations behind a tensor that are remembered."""


class Returned(Struct, frozen=True, eq=False):
    """What is known of the output of a module, and how that was made within it."""

    known: Meta
    within: Making


class Making:
    """How a tensor was made: from which arguments, by what; `of` is a layer, an index or whatever else decides.

    `site` is where, if somebody may want to tell; `answer` is there once somebody has asked.
    """

    __slots__ = ("answer", "args", "depth", "keywords", "name", "of", "site")

    def __init__(
        self, name: str, args: Args, keywords: Keywords | None = None, of: object = None, site: Site | None = None
    ) -> None:
        self.answer: Meta | None = None
        self.name = name
        self.args = args
        self.keywords = keywords or {}
        self.of = of
        self.site = site
        self.depth = 1
        for value in args:
            meta = getattr(value, "meta", None)
            if isinstance(meta, Making) and meta.depth >= self.depth:
                self.depth = meta.depth + 1


def number(dtypes: Iterable[str]) -> Making | None:
    """A number that is computed from others that get these dtypes in a tensor; None where one is none."""
    found = list(dtypes)
    if not found or not all(found):
        return None
    return Making("number", (), of=found[0] if len(set(found)) == 1 else "floating" if "floating" in found else "int64")


def read(value: Value, dtype: str = "") -> Making:
    """A number that is read from a value; in a tensor it gets this dtype, "" where that is not known."""
    return Making("number" if dtype else READ, (value,), of=dtype)


def read_from(size: Making | None) -> Value | None:
    """What a number was read from; None where nobody knows of that."""
    return size.args[0] if size is not None and size.name in ("number", READ) and size.args else None


READ: Final = "read"
"""Of a number of which nothing is known but what it was read from."""
WHOLE: Final = Making("number", (), of="int64")
"""Of a number without a fraction."""
_RANKS = {"bool": 0, "uint8": 1, "int8": 1, "int16": 2, "int32": 3, "int64": 4}
_FLOATS = {"float16": 1, "bfloat16": 1, "floating": 2, "float32": 3, "float64": 4}


def is_floating(dtype: str) -> bool:
    """Whether its numbers have fractions."""
    return dtype in _FLOATS


def is_integer(dtype: str) -> bool:
    """Whether its numbers are integers, or yes and no."""
    return dtype in _RANKS


def promoted(dtypes: Iterable[str]) -> str:
    """The dtype of a result of several (https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc)."""
    found = list(dtypes)
    floats = [dtype for dtype in found if dtype in _FLOATS]
    if floats:
        return floats[0] if len(floats) == len(found) and len(set(floats)) == 1 else "floating"
    if not found or "" in found:
        return ""
    if {"uint8", "int8"} == set(found) - {"bool"}:
        return "int16"
    return max(found, key=lambda dtype: _RANKS.get(dtype, 0))


def place(shape: Shape, dim: object, *, room: int = 0) -> int | None:
    """The position of dimension `dim` in the tuple; None where it cannot be told. `room` counts dimensions to be added."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        return None
    length = len(shape) + room
    position = dim if dim >= 0 else dim + length
    if shape[:1] == (ANY,):
        return position if dim < 0 and position > 0 else None
    return position if 0 <= position < length else None


def joined(left: Shape | None, right: Shape | None) -> Shape | None:
    """What holds of both."""
    if left == right:
        return left
    if left is None or right is None:
        return None
    if ANY in (*left[:1], *right[:1]) or len(left) != len(right):
        tail = _common_tail(left, right)
        return (ANY, *tail) if any(size is not None for size in tail) else None
    return tuple(a if a == b else None for a, b in zip(left, right, strict=True))


def _common_tail(left: Shape, right: Shape) -> Shape:
    tail: list[Size] = []
    for a, b in zip(reversed(left), reversed(right), strict=False):
        if ANY in (a, b):
            break
        tail.insert(0, a if a == b else None)
    return tuple(tail)


def broadcast(left: Shape | None, right: Shape | None) -> Shape | None:
    """The shape of an elementwise result (https://docs.pytorch.org/docs/stable/notes/broadcasting.html)."""
    if left == () or (left == right and left is not None):
        return right
    if right == ():
        return left
    if left is None or right is None:
        return None
    if ANY in (*left[:1], *right[:1]):
        tail = _broadcast_tail(left, right)
        return (ANY, *tail) if tail else None
    length = max(len(left), len(right))
    left, right = (1,) * (length - len(left)) + left, (1,) * (length - len(right)) + right
    return tuple(_wider(a, b) for a, b in zip(left, right, strict=True))


def _broadcast_tail(left: Shape, right: Shape) -> Shape:
    tail: list[Size] = []
    for a, b in zip(reversed(left), reversed(right), strict=False):
        if ANY in (a, b):
            break
        tail.insert(0, _wider(a, b))
    return tuple(tail)


def _wider(left: Size, right: Size) -> Size:
    if right in (left, 1):
        return left
    if left == 1:
        return right
    known = [size for size in (left, right) if size is not None]
    return known[0] if len(known) == 1 else None


def reduced(shape: Shape | None, dims: object, *, keep: bool) -> Shape | None:
    """One or several dimensions summed up."""
    if shape is None:
        return None
    positions = [place(shape, dim) for dim in (dims if isinstance(dims, tuple) else (dims,))]
    if None in positions:
        return None
    return tuple(
        1 if position in positions else size for position, size in enumerate(shape) if keep or position not in positions
    )


def squeezed(shape: Shape | None, dim: object = None) -> Shape | None:
    """Dimensions of size 1 taken out: one, or all where `dim` is None."""
    if shape is None or (dim is None and any(not isinstance(size, int) and size != BATCH for size in shape)):
        return None  # what only has a name may be 1
    if dim is None:
        return tuple(size for size in shape if size != 1)
    position = place(shape, dim)
    if position is None or not (isinstance(shape[position], int) or shape[position] in (BATCH, ANY)):
        return None  # of a size that only has a name, the script says that it is 1
    rest = (*shape[:position], *shape[position + 1 :])
    return shape if shape[position] != 1 else None if rest == (ANY,) else rest


def unsqueezed(shape: Shape | None, dim: object) -> Shape | None:
    """A dimension of size 1 put in."""
    if shape is None:
        return (ANY, 1) if dim == -1 else None
    position = place(shape, dim, room=1)
    return None if position is None else (*shape[:position], 1, *shape[position:])


def swapped(shape: Shape | None, first: object, second: object) -> Shape | None:
    """Two dimensions change places."""
    if shape is None:
        return None
    one, other = place(shape, first), place(shape, second)
    if one is None or other is None:
        return None
    sizes = list(shape)
    sizes[one], sizes[other] = sizes[other], sizes[one]
    return tuple(sizes)


def flattened(shape: Shape | None, start: object = 0, end: object = -1) -> Shape | None:
    """Dimensions from `start` to `end` made one."""
    if start == 0 and end == -1:
        return (None if shape is None or ANY in shape[:1] else _product(shape),)
    if shape is None or ANY in shape[:1]:
        return (None, None) if start == 1 and end == -1 else None
    first, last = place(shape, start), place(shape, end)
    if first is None or last is None or first > last:
        return None
    return (*shape[:first], _product(shape[first : last + 1]), *shape[last + 1 :])


def reshaped(shape: Shape | None, sizes: tuple[Size, ...]) -> Shape:
    """As many numbers in other dimensions; -1 among the `sizes` stands for what is left."""
    if -1 not in sizes:
        return sizes
    left = None if shape is None or ANY in shape[:1] else _left(shape, sizes)
    return tuple(left if size == -1 else size for size in sizes)


def _left(shape: Shape, sizes: tuple[Size, ...]) -> Size:
    """What -1 stands for."""
    wanted = [size for size in sizes if size != -1]
    have = list(shape)
    for size in list(wanted):
        if isinstance(size, str) and size in have:
            have.remove(size)
            wanted.remove(size)
    words = [size for size in have if isinstance(size, str)]
    if None in have or None in wanted or any(isinstance(size, str) for size in wanted) or len(words) > 1:
        return None
    numbers = [size for size in have if isinstance(size, int)]
    total, part = _times(numbers), _times([size for size in wanted if isinstance(size, int)])
    if words:
        return words[0] if total == part else None
    return total // part if part and total % part == 0 else None


def _product(shape: Shape) -> Size:
    numbers = [size for size in shape if isinstance(size, int)]
    others = [size for size in shape if not isinstance(size, int)]
    if not others:
        return _times(numbers)
    return others[0] if len(others) == 1 and _times(numbers) == 1 else None


def _times(numbers: Iterable[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


def with_last(shape: Shape | None, size: Size) -> Shape | None:
    """The last dimension gets another size."""
    if shape is None or len(shape) == 0:
        return (ANY, size) if size is not None else None
    return (*shape[:-1], size) if shape != (ANY,) else (ANY, size)


def with_first(shape: Shape | None, size: Size) -> Shape | None:
    """The first dimension gets another size."""
    if shape is None or shape[:1] in ((), (ANY,)):
        return shape or None
    return (size, *shape[1:])
