"""Modules and the modules that are part of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Registered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace import Trace


class Family:
    """The modules and parameters of one trace with what was registered in them."""

    def __init__(self, trace: Trace) -> None:
        self._parts: dict[int, set[int]] = {}
        for event in trace.of(Registered):
            self._parts.setdefault(event.owner, set()).add(event.child)
        self._within: dict[frozenset[int], frozenset[int]] = {}

    def within(self, modules: Iterable[int]) -> frozenset[int]:
        """These modules and everything that is part of them."""
        asked = frozenset(modules)
        known = self._within.get(asked)
        if known is None:
            known = self._within[asked] = self._found(asked)
        return known

    def related(self, left: Iterable[int], right: Iterable[int]) -> bool:
        """Whether something belongs to both."""
        return not self.within(left).isdisjoint(self.within(right))

    def _found(self, modules: frozenset[int]) -> frozenset[int]:
        found: set[int] = set()
        waiting = list(modules)
        while waiting:
            module = waiting.pop()
            if module not in found:
                found.add(module)
                waiting.extend(self._parts.get(module, ()))
        return frozenset(found)
