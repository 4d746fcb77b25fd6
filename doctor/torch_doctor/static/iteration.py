"""How a loop goes: how many passes, what each one gets, and what the loop is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import LoopKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.values import Value

PASSES = 2
"""Passes through a loop that cannot be counted: what one leaves for the next is seen in the second."""
WALKED = 24
"""Parts of a module up to which a loop over them is executed part by part."""
UNROLLED = 8
"""Items up to which a loop over known items is executed item by item."""


class Course(Struct, frozen=True):
    """A loop's way: `item(number)` is what pass `number` (from 1) gets, `over` the user's words for what it goes through.

    `passes` are those that are executed; `length` is how many there are in a run, as a stream tells it. `whole` is the loader
    that there is exactly one pass for each batch of; 0 where there is none. `turn` is how symbols name its passes.
    `validates`: it is a trainer's validation, while it trains.
    """

    passes: int
    item: Callable[[int], Value]
    over: str
    kind: LoopKind = LoopKind.PLAIN
    length: float | None = None
    whole: int = 0
    turn: int = 0
    validates: bool = False
