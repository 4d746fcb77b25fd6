"""The one walk through values that hold others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values.containers import Mapping, Sequence
from torch_doctor.static.values.value import Either

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.values.value import Value


def leaves(*values: Value) -> Iterator[Value]:
    """What lies in these values and holds no others, in order: containers and alternatives are taken apart.

    Each container is looked at once, however often it is in there; one may hold itself.
    """
    seen: set[int] = set()
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, Sequence):
            inner = value.content.all()
        elif isinstance(value, Mapping):
            inner = value.values()
        elif isinstance(value, Either):
            inner = tuple(option for _, option in value.options)
        else:
            yield value
            continue
        if id(value) not in seen:
            seen.add(id(value))
            waiting.extend(reversed(inner))
