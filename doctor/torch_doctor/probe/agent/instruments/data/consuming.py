"""Datasets that give each of their samples once: who reads them on the side takes samples away from the script."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

TAKING = frozenset(("pop", "popleft", "popitem", "next", "__next__", "readline", "get_nowait", "recv"))
"""What code calls that takes the next of something."""
DEEPEST = 3  # datasets within datasets
MOST = 8  # of the parts of a list that are looked at


def consumes(torch: Any, dataset: Any, deep: int = DEEPEST) -> bool:
    """Whether reading a row may take something that is not there the next time."""
    kind = torch.utils.data.Dataset
    if not isinstance(dataset, kind):
        return False
    if any(TAKING & {*code.co_names} for code in _codes(type(dataset))):
        return True
    held = (value if type(value) in (list, tuple) else (value,) for value in vars(dataset).values())
    parts = itertools.chain.from_iterable(itertools.islice(each, MOST) for each in held)
    return deep > 0 and any(consumes(torch, each, deep - 1) for each in parts if isinstance(each, kind))


def _codes(kind: type) -> Iterator[CodeType]:
    """The code by which a class gives a row, with what is defined in it, and that of its methods which are named there."""
    seen = {"__getitem__"}
    waiting = [getattr(getattr(kind, "__getitem__", None), "__code__", None)]
    while waiting:
        code = waiting.pop()
        if code is None:
            continue
        yield code
        waiting += [part for part in code.co_consts if isinstance(part, type(code))]
        named = [name for name in code.co_names if name not in seen]
        seen.update(named)
        waiting += [getattr(getattr(kind, name, None), "__code__", None) for name in named]
