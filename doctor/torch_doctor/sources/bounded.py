"""What is kept for a while: when it becomes too much, what nobody has needed for the longest time gives way."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """Values by their keys that weigh so much together, `most` at most; the newest is always kept."""

    def __init__(self, most: int, weigh: Callable[[V], int]) -> None:
        self._most = most
        self._weigh = weigh
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __getitem__(self, key: K) -> V:
        """A value, which is needed.

        Raises:
            KeyError: it is not there, or gave way.
        """
        self._values.move_to_end(key)
        return self._values[key][0]

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key)
        self._values[key] = value, self._weigh(value)
        self._weight += self._values[key][1]
        while self._weight > self._most and len(self._values) > 1:
            self.pop(next(iter(self._values)))

    def pop(self, key: K) -> None:
        """Keep a value no longer, if it is there."""
        _, weight = self._values.pop(key, (None, 0))
        self._weight -= weight
