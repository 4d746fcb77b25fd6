"""A value that would have been read: it takes every use, and is the tensor that a loop wants where it reaches a model."""

from __future__ import annotations

import dis
import functools
import sys
from typing import TYPE_CHECKING, Any

from ...handed import hand
from ..batches.parts import MAPPING, SEQUENCE, Part
from ..silent import unpacked
from ..told import PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, NUMBER, FRACTION = 64, 16, 0.5  # rows of a sequence, and what a number of unknown size is
EACH, SOME, CALLED = "each", "some", "called"  # parts that are no fields: an element, a slice, a result
MOST_ENTRIES = 8  # of a dictionary whose keys nobody names
SAME = frozenset(
    "to float double half long int bool type astype numpy clone detach contiguous copy squeeze unsqueeze view reshape "
    "permute transpose flatten pin_memory requires_grad_ strip lower upper rstrip lstrip replace encode decode".split()
)
"""Methods whose result is the same for what is asked of it here; `to` where it gives another type."""
MOVING = frozenset({"to", "cuda", "cpu"})
"""Methods whose result may be on another device."""
TRAINING = frozenset({"backward", "step", "zero_grad", "parameters", "named_parameters"})
"""Methods of models, losses and optimizers, which are made up in the last resort alone."""
RAW = frozenset({"peek", "readinto", "fileno"})
"""Methods of files whose result is used as bytes, by code that checks nothing."""


class UnknownFormError(TypeError):
    """What was never read came to where its form counts, and nothing is known of it."""


def _untrained(_: Unread, name: str) -> Any:
    message = f"values that could not be read have no `{name}`"
    raise UnknownFormError(message)


class Unread:
    """A value of which only the use is known.

    `node` is what is known of it: its parts, and its tensor where it was found what the loop wants. What is computed of it
    is it again; elements that come from the same place are one. `moved` is what it is the copy of, on another device, and the
    move.
    """

    __slots__ = ("_moved", "_node", "_tensor")
    found: Callable[[Unread], Any]
    """Gives the tensor of one, where it is known."""
    meet: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    """Called where one comes to a function of torch."""
    acts: Callable[[Unread, str], Any] = staticmethod(_untrained)
    """Gives a method of a model or an optimizer, where it is asked for one."""
    called: Callable[[Unread, tuple[Any, ...], dict[str, Any]], Any] = staticmethod(lambda *_: None)
    """Gives the result of a call, where it acts as a model or a loss; None where it does not."""
    word: Callable[[], str] = staticmethod(lambda: "")
    """Gives the text that it is, where the script compares it with texts; empty where it may be none of them."""
    chooses: Callable[[], None] = staticmethod(lambda: None)
    """Called where the script asks for its truth, or compares it: what it does then depends on what was made up."""

    def __init__(self, node: Part, moved: tuple[Unread, Callable[[Any], Any]] | None = None) -> None:
        self._node = node
        self._moved = moved
        self._tensor: Any = None

    @classmethod
    def __torch_function__(
        cls, function: Any, _: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        """Called by torch for its functions and methods that get one of these."""
        return Unread.meet(function, arguments, keywords or {})

    def __array_function__(self, *_: Any, **__: Any) -> Any:
        return self

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return self

    def __array__(self, *_: Any, **__: Any) -> Any:
        message = "values that could not be read cannot be used as numbers"
        raise TypeError(message)

    # --- parts ---

    def __getattr__(self, name: str) -> Any:
        if name in RAW or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        tensor = Unread.found(self)
        if tensor is not None and hasattr(tensor, name):
            return getattr(tensor, name)
        if name in TRAINING:
            return Unread.acts(self, name)
        if name in MOVING:
            return functools.partial(self._to, name)
        if name in SAME:
            return lambda *_, **__: self
        given = {
            "shape": ContentShape(self),
            "size": self._size,
            "items": self._items,
            "keys": self._keys,
            "get": self._get,
        }
        return given[name] if name in given else self._part(name, MAPPING)

    def _to(self, name: str, *arguments: Any, **keywords: Any) -> Unread:
        """The same on another device."""
        given = [*arguments, *(value for key, value in keywords.items() if key == "device")][:1]
        if name == "to" and not (given and (isinstance(given[0], (str, int)) or type(given[0]).__name__ == "device")):
            return self
        return Unread(self._node, (self, lambda tensor: getattr(tensor, name)(*given)))

    def _part(self, key: Any, form: str) -> Unread:
        """A part of it, which is where it is."""
        part = self._node.part(key, form)
        if self._moved is None:
            return Unread(part)
        whole, move = self._moved
        return Unread(part, (whole._part(key, form), move))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What it gives, if it is a function."""
        hand((*arguments, *keywords.values()))
        given = Unread.called(self, arguments, keywords)
        return self._part(CALLED, MAPPING) if given is None else given

    def __getitem__(self, key: Any) -> Any:
        tensor = Unread.found(self)
        if tensor is not None:
            return tensor[key]
        if isinstance(key, str):
            return self._part(key, MAPPING)
        if isinstance(key, int) and _is_constant(sys._getframe(1)):
            return self._part(key, SEQUENCE)
        return self._part(SOME if isinstance(key, slice) else EACH, SEQUENCE)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Unread.__slots__:
            object.__setattr__(self, name, value)

    def __setitem__(self, _: Any, __: Any) -> None: ...

    def __delitem__(self, _: Any) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        tensor = Unread.found(self)
        if tensor is not None:
            return iter(tensor)
        count = unpacked(sys._getframe(1))
        if count:
            return iter([self._part(place, SEQUENCE) for place in range(count)])
        if self._node.form == MAPPING:
            return iter(self._keys())
        return iter([self._part(EACH, SEQUENCE) for _ in range(ROWS)])

    def __contains__(self, _: Any) -> bool:
        Unread.chooses()
        return True

    def _keys(self) -> list[str]:
        named = [key for key in self._node.parts if isinstance(key, str) and key not in (EACH, SOME, CALLED)]
        return named or [f"{PATH} {number}" for number in range(MOST_ENTRIES)]

    def _items(self) -> list[tuple[str, Unread]]:
        return [(key, self[key]) for key in self._keys()]

    def _get(self, key: Any, default: Any = None) -> Any:
        return self[key] if default is None else default

    def _size(self, dim: int | None = None) -> Any:
        shape = ContentShape(self)
        return shape if dim is None else shape[dim]

    # --- values ---

    def __len__(self) -> int:
        tensor = Unread.found(self)
        return ROWS if tensor is None or not tensor.dim() else len(tensor)

    def __bool__(self) -> bool:
        Unread.chooses()
        return True

    def __int__(self) -> int:
        return NUMBER

    __index__ = __int__

    def __float__(self) -> float:
        return FRACTION

    def __str__(self) -> str:
        return self._node.word or PATH

    def __format__(self, _: str) -> str:
        return str(self)

    __fspath__ = __repr__ = __str__

    def __enter__(self) -> Unread:
        Unread.called(self, (), {})  # it is run as a function is
        return self

    def __exit__(self, *_: object) -> None: ...

    __hash__ = object.__hash__

    def __mod__(self, other: Any) -> Any:
        return NUMBER % other if isinstance(other, int) and other else self

    def __floordiv__(self, other: Any) -> Any:
        return NUMBER // other if isinstance(other, int) and other else self


def _computed(name: str) -> Any:
    def computed(self: Unread, *others: Any) -> Any:
        if Unread.found(self) is not None:
            return getattr(Unread.found(self), name)(*others)
        return self

    return computed


def _compared(name: str) -> Any:
    def compared(self: Unread, other: Any) -> Any:
        Unread.chooses()
        if isinstance(other, (int, float)):
            return getattr(float(NUMBER), name)(other)
        if isinstance(other, str) and name == "__eq__":
            self._node.word = self._node.word or Unread.word()
            return self._node.word == other
        tensor = Unread.found(self)
        return getattr(tensor, name)(other) if tensor is not None else False

    return compared


for _each in "add radd sub rsub mul rmul truediv rtruediv pow rpow matmul rmatmul neg abs invert and or xor".split():
    setattr(Unread, f"__{_each}__", _computed(f"__{_each}__"))
for _each in ("lt", "le", "gt", "ge", "eq"):
    setattr(Unread, f"__{_each}__", _compared(f"__{_each}__"))


class ContentShape:
    """The shape of what would have been read."""

    def __init__(self, unread: Unread) -> None:
        tensor = Unread.found(unread)
        self._known = None if tensor is None else tensor.shape

    def __getitem__(self, place: Any) -> Any:
        if self._known is not None:
            return self._known[place]
        return ROWS if place == 0 else NUMBER if isinstance(place, int) else (ROWS, NUMBER)[place]

    def __iter__(self) -> Iterator[int]:
        if self._known is not None:
            return iter(self._known)
        count = unpacked(sys._getframe(1)) or 2
        return iter([ROWS] + [NUMBER] * (count - 1))

    def __len__(self) -> int:
        return 2 if self._known is None else len(self._known)


def _is_constant(frame: Any) -> bool:
    """Whether the code takes a part by a number that is written there, as it does of a row, not of rows."""
    before = None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset >= frame.f_lasti:
            break
        if instruction.opname not in ("CACHE", "EXTENDED_ARG"):
            before = instruction
    return before is not None and before.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
