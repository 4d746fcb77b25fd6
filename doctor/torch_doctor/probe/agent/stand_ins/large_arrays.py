"""Arrays that are too large for this machine, as the memories of agents are: they have fewer rows."""

from __future__ import annotations

import functools
from math import prod
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import told
from .stand_in import StandIn

if TYPE_CHECKING:
    from types import ModuleType

NAMES = ("zeros", "empty", "ones")
SIZE = 64_000_000  # numbers of such an array
FEWEST = 256  # rows that it keeps at least
MANY = 10_000  # rows that it has to have: what is stored one after the other


class LargeArrays(StandIn):
    """Makes an array with fewer rows where there is no memory for it: no probe comes to its last row."""

    replaces = "there is not enough memory"
    voids = (told.SHAPES,)

    def prepare(self) -> None:
        """Patches what makes them."""
        after("numpy", self._patch)

    def _patch(self, module: ModuleType) -> None:
        for name in NAMES:
            setattr(module, name, self._fewer(getattr(module, name), f"{module.__name__}.{name}"))

    def _fewer(self, make: Any, whole: str) -> Any:
        @functools.wraps(make)
        def made(*arguments: Any, **keywords: Any) -> Any:
            try:
                return make(*arguments, **keywords)
            except MemoryError:
                shape = _shape(arguments, keywords)
                if shape[0] < MANY:
                    raise
                fewer = (max(FEWEST, SIZE // max(1, prod(shape[1:]))), *shape[1:])
                self.tell(f"{whole}({'×'.join(map(str, shape))})", f"{fewer[0]} rows of it")
                return make(fewer, *arguments[1:], **{key: keywords[key] for key in keywords if key != "shape"})

        return made


def _shape(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[int, ...]:
    """The shape that was asked for."""
    given = arguments[0] if arguments else keywords.get("shape", 0)
    sides = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    return tuple(int(each) for each in sides) or (0,)
