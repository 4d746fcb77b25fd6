"""Maps and sets of what is alive, told apart by identity: what the user's objects say of their hash and equality is theirs."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping, MutableSet
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class IdentityMap(MutableMapping[Any, Value], Generic[Value]):
    """A value for each of some objects, as long as that lives."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Any], Value]] = {}

    def __setitem__(self, key: Any, value: Value) -> None:
        number, held = id(key), self._held
        known = held.get(number)
        reference = known[0] if known is not None else weakref.ref(key, lambda _: held.pop(number, None))
        held[number] = reference, value

    def __getitem__(self, key: Any) -> Value:
        return self._held[id(key)][1]

    def __delitem__(self, key: Any) -> None:
        del self._held[id(key)]

    def __contains__(self, key: object) -> bool:
        return id(key) in self._held

    def __iter__(self) -> Iterator[Any]:
        return iter([key for reference, _ in list(self._held.values()) if (key := reference()) is not None])

    def __len__(self) -> int:
        return len(self._held)


class IdentitySet(MutableSet[Any]):
    """Some objects, as long as they live."""

    def __init__(self) -> None:
        self._map: IdentityMap[None] = IdentityMap()

    def __contains__(self, key: object) -> bool:
        return key in self._map

    def __iter__(self) -> Iterator[Any]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def add(self, value: Any) -> None:
        """Puts it in."""
        self._map[value] = None

    def discard(self, value: Any) -> None:
        """Takes it out."""
        self._map.pop(value, None)
