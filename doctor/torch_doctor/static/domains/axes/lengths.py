"""Sizes that equal each other because an elementwise operation has put their dimensions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import Making, Tensor, Value
from torch_doctor.trace.amounts import ONE, Amount, amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.domains.axes.sizes import Amounts

_TOGETHER: Final = table.ELEMENTWISE | table.DIVISIONS | {table.DISTRIBUTED, table.LOSSES}
"""What puts dimensions of its arguments side by side: they are equally long, but for those of one element."""


def equal(size: Amount, sizes: Callable[[Value], Amounts]) -> frozenset[Amount]:
    """Return the sizes that equal this one, itself among them; `sizes` returns those of a tensor."""
    found: set[Amount] = set()
    waiting = [size]
    while waiting:
        size = waiting.pop()
        if size == ONE or size in found:
            continue
        found.add(size)
        name = next(iter(size.names))[0] if len(size.names) == 1 else None
        made, at = name if isinstance(name, tuple) and len(name) == 2 else (None, 0)
        if not isinstance(made, Making) or made.name not in _TOGETHER or size != amount(name):
            continue
        from_end = at - len(sizes(Tensor(meta=made)) or ())
        for number, each in enumerate(map(sizes, made.args)):
            place = from_end - _further(made, number)
            aligned = each[place] if each is not None and -len(each) <= place < 0 else None
            waiting += [] if aligned is None else [aligned]
    return frozenset(found)


def _further(made: Making, number: int) -> int:
    """Return how many dimensions an argument has behind those of the result: scores of classes have one."""
    first = made.of if isinstance(made.of, int) and made.name in (table.DISTRIBUTED, table.LOSSES) else 0
    return int(number < first)
