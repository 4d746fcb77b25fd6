"""Fields of knowledge: kept for a whole run, or undone and joined by the branches of the script, as the heap is."""

from __future__ import annotations

from collections.abc import MutableMapping, MutableSet
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from torch_doctor.static.values import NEWEST, Fields, PathFields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch_doctor.static.heap import Heap

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class Declared:
    """A field of a class of knowledge, as its class declares it.

    `make` makes its first value, `path`: branches undo its changes, `agreed`: and join what they leave as they join variables.
    """

    def __init__(self, make: Callable[[], Any], *, path: bool, agreed: bool = False) -> None:
        self.make = make
        self.path = path
        self.agreed = agreed

    def begin(self, heap: Heap) -> Any:
        """The first value of the field in a run with this heap."""
        value = self.make()
        if not self.path:
            return value
        return PathSet[Any](heap) if isinstance(value, set) else PathDict[Any, Any](heap, agreed=self.agreed)


class Holder(Protocol):
    """What has fields of a path: the heap of its run, and where it keeps them."""

    heap: Heap
    path: PathFields


class PathField:
    """A field with one value, which branches undo and join: what the second arm leaves, where the first leaves another."""

    def __init__(self, first: object) -> None:
        self.first = first

    def __get__(self, known: Holder, _: type[Holder]) -> Any:
        return known.path.get(self, self.first)

    def __set__(self, known: Holder, value: object) -> None:
        known.heap.set(known.path, self, value)


def _nothing() -> None:
    """The first value of a field that has none."""


@overload
def per_run(make: Callable[[], T]) -> T: ...
@overload
def per_run() -> Any: ...
def per_run(make: Callable[[], Any] = _nothing) -> Any:
    """Declare a field that is the same on every path: what was said already, or what follows from a value by itself.

    `make` makes its first value, None without it.
    """
    return Declared(make, path=False)


@overload
def per_path(make: type[set[Any]]) -> MutableSet[Any]: ...
@overload
def per_path(make: type[dict[Any, Any]], *, agreed: bool = ...) -> MutableMapping[Any, Any]: ...
@overload
def per_path(make: Callable[[], T]) -> T: ...
@overload
def per_path() -> Any: ...
def per_path(make: Callable[[], Any] = _nothing, *, agreed: bool = False) -> Any:
    """Declare a field that one arm of a branch does not see of the other: a set, a dict, or one immutable value.

    After both arms, a set or dict has what either of them put there. A dict whose values have to be `agreed` on has them
    joined as the variables of a script are: None where only one arm left something that is no value of the script.
    `make` makes the first value, None without it.
    """
    if make in (set, dict):
        return Declared(make, path=True, agreed=agreed)
    return PathField(make())


class PathSet(MutableSet[K], Generic[K]):
    """A set whose changes are in the heap's log."""

    __slots__ = ("_fields", "_heap")

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._fields = PathFields()

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> set[Any]:
        """What an operator gives is a plain set."""
        return set(it)

    def __contains__(self, key: object) -> bool:
        return key in self._fields

    def __iter__(self) -> Iterator[K]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def add(self, value: K) -> None:
        """Add an element on this path."""
        self._heap.set(self._fields, value, value=True)

    def discard(self, value: K) -> None:
        """Remove an element on this path, if it is there."""
        self._heap.drop(self._fields, value)


class PathDict(MutableMapping[K, V], Generic[K, V]):
    """A dict whose changes are in the heap's log."""

    __slots__ = ("_fields", "_heap")

    def __init__(self, heap: Heap, *, agreed: bool = False) -> None:
        self._heap = heap
        self._fields = Fields(NEWEST) if agreed else PathFields()

    def __getitem__(self, key: K) -> V:
        found: V = self._fields[key]
        return found

    def __iter__(self) -> Iterator[K]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __setitem__(self, key: K, value: V) -> None:
        self._heap.set(self._fields, key, value)

    def __delitem__(self, key: K) -> None:
        if key not in self._fields:
            raise KeyError(key)
        self._heap.drop(self._fields, key)
