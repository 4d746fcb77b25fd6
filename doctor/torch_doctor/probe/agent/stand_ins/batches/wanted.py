"""A value of which only the use is known: it notes what is done to it, until that tells what tensor it has to be."""

from __future__ import annotations

import operator
import sys
from typing import Any

from ..silent import unpacked
from .parts import LEAF, MAPPING, OBJECT, SEQUENCE, Part

STAYING = frozenset({"cuda", "cpu", "pin_memory", "contiguous", "detach", "clone", "requires_grad_", "share_memory_"})
"""Methods after which a tensor is what it was, for what is asked of it here."""
SAME_NUMBERS = frozenset({"T", "mT", "data"})
"""Attributes that are tensors of the same numbers."""
ENTRIES = frozenset({"keys", "values", "items", "get"})
"""Methods of dictionaries."""
OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow rpow matmul rmatmul neg abs invert and or xor "
    "eq ne lt le gt ge getitem"
).split()


class Applied:
    """What a function gives for arguments that are wanted themselves."""

    __slots__ = ("arguments", "function", "keywords", "trial", "value")

    def __init__(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.value: Any = None
        self.trial: Any = None


class Shape:
    """The shape of what is wanted: its first number is the size of the batch, the others have to be found."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def __getitem__(self, place: Any) -> Any:
        if place == 0 and type(self._wanted._node) is Part:
            return finder().rows
        return self._known()[place]

    def __iter__(self) -> Any:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __eq__(self, other: object) -> bool:
        return bool(self._known() == other)

    __hash__ = None  # type: ignore[assignment]

    def _known(self) -> Any:
        return finder().forced(self._wanted).shape


class Wanted:
    """A part of a batch, or what becomes of it."""

    __slots__ = ("_node",)
    finder: Any

    def __init__(self, node: Part | Applied) -> None:
        self._node = node

    @classmethod
    def __torch_function__(
        cls, function: Any, _: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        """Called by torch for its functions and methods that get one of these."""
        return finder().called(function, arguments, keywords or {})

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` is told: a tensor, unless it was taken apart."""
        form = self._node.form if type(self._node) is Part else LEAF
        return {SEQUENCE: list, MAPPING: dict, OBJECT: Wanted}.get(form, finder().torch.Tensor)

    # --- attributes ---

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = finder().value(self)
        if known is not None:
            return getattr(known, name)
        if name in ENTRIES:
            return getattr(Entries(self), name)
        node = self._node
        if type(node) is Part and (node.form == OBJECT or not hasattr(finder().torch.Tensor, name)):
            return Wanted(node.part(name, OBJECT))
        return self._tensors(name)

    def _tensors(self, name: str) -> Any:
        """An attribute, or a method, of a tensor."""
        given = {"shape": Shape(self), "size": self._size, "to": self._moved, "type": self._moved}.get(name)
        if given is not None:
            return given
        if name == "backward":
            return lambda *_, **__: finder().backward(self)
        if name in STAYING:
            return lambda *_, **__: self
        method = getattr(finder().torch.Tensor, name)
        if callable(method):
            return lambda *arguments, **keywords: finder().called(method, (self, *arguments), keywords)
        if name in SAME_NUMBERS:
            return finder().called(getattr, (self, name), {})
        return finder().torch.device("cpu") if name == "device" else finder().attribute(self, name)

    def _size(self, dim: int | None = None) -> Any:
        return Shape(self) if dim is None else Shape(self)[dim]

    def _moved(self, *arguments: Any, **keywords: Any) -> Any:
        """`to` and `type`: only another type of numbers makes a difference."""
        dtypes = [each for each in (*arguments, *keywords.values()) if isinstance(each, finder().torch.dtype)]
        return finder().called(finder().torch.Tensor.to, (self, dtypes[0]), {}) if dtypes else self

    # --- items ---

    def __getitem__(self, key: Any) -> Any:
        node = self._node
        if type(node) is Part and node.spec is None:
            if isinstance(key, (str, int)) and key in node.given:
                return node.given[key]
            if isinstance(key, str):
                return Wanted(node.part(key, MAPPING))
            if type(key) is int and (finder().is_whole(node) or node.form == SEQUENCE):
                return Wanted(node.part(key, SEQUENCE))
        return finder().called(finder().torch.Tensor.__getitem__, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(self._node) is Part and isinstance(key, (str, int)):
            self._node.given[key] = value
        else:
            finder().forced(self)[key] = value

    def __contains__(self, key: Any) -> bool:
        return isinstance(key, str)

    def __iter__(self) -> Any:
        node = self._node
        if type(node) is not Part and node.value is None and (parts := unpacked(sys._getframe(1))):
            return iter([Wanted(Applied(operator.getitem, (self, place), {})) for place in range(parts)])
        if type(node) is not Part or node.spec is not None:
            return iter(finder().forced(self))
        if not node.parts or node.form == SEQUENCE:
            guess = finder().unpacked if finder().is_whole(node) else finder().rows.__int__
            count = unpacked(sys._getframe(1)) or len(node.parts) or guess()
            return iter([Wanted(node.part(place, SEQUENCE)) for place in range(count)])
        return iter(list(node.parts))

    def __len__(self) -> int:
        node = self._node
        if type(node) is Part and node.form in (SEQUENCE, MAPPING):
            return len(node.parts)
        return int(finder().rows)

    # --- values ---

    def __bool__(self) -> bool:
        return bool(finder().number(self))

    def __int__(self) -> int:
        return int(finder().number(self))

    def __float__(self) -> float:
        return float(finder().number(self))

    __index__ = __int__

    def __array__(self, *arguments: Any, **_: Any) -> Any:
        return finder().forced(self).detach().numpy().__array__(*arguments)

    def __format__(self, _: str) -> str:
        return ""

    def __repr__(self) -> str:
        return "what the loop wants"

    __hash__ = object.__hash__


def _operator(name: str) -> Any:
    def applied(self: Wanted, *others: Any) -> Any:
        return finder().called(getattr(finder().torch.Tensor, name), (self, *others), {})

    return applied


for _each in OPERATORS:
    if _each != "getitem":
        setattr(Wanted, f"__{_each}__", _operator(f"__{_each}__"))


class Entries:
    """The entries of a batch that is a dictionary: the arguments that the model takes by name."""

    def __init__(self, wanted: Wanted) -> None:
        self._part: Any = wanted._node

    def get(self, key: Any, _: Any = None) -> Any:
        """As `dict.get`."""
        return Wanted(self._part.part(key, MAPPING))

    def keys(self) -> list[str]:
        """As `dict.keys`."""
        return list(self._part.parts) or finder().names(self._part)

    def items(self) -> list[tuple[str, Wanted]]:
        """As `dict.items`."""
        return [(key, Wanted(self._part.part(key, MAPPING))) for key in self.keys()]

    def values(self) -> list[Wanted]:
        """As `dict.values`."""
        return [value for _, value in self.items()]


def finder() -> Any:
    """What finds out what is wanted, in the rehearsal under way."""
    return Wanted.finder
