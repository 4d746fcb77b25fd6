"""Which events lie in the same pass of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch_doctor.trace import Event, Scope, Site, Trace

E = TypeVar("E", bound="Event")


class Beside:
    """The events of one trace by the loops that they lie in: a long script has many of both."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._by_pass: dict[type[Event], dict[Scope | None, list[Event]]] = {}
        self._by_loop: dict[type[Event], dict[Site | None, list[Event]]] = {}

    def sharing(self, event: Event, kind: type[E]) -> list[E]:
        """The events of a class that lie in a pass of a loop that the event lies in, in order; none outside of loops."""
        around = event.scope.iterations()
        if kind not in self._by_pass:
            passes = self._by_pass[kind] = {}
            for each in self._trace.of(kind):
                passes.setdefault(next(iter(each.scope.iterations()), None), []).append(each)
        return self._by_pass[kind].get(around[0], []) if around else []  # type: ignore[return-value]  # they are of this class

    def in_loop(self, event: Event, kind: type[E]) -> list[E]:
        """The events of a class that lie innermost in the loop of the script in which the event lies, in order."""
        if kind not in self._by_loop:
            loops = self._by_loop[kind] = {}
            for each in self._trace.of(kind):
                loops.setdefault(_loop(each), []).append(each)
        return self._by_loop[kind].get(_loop(event), [])  # type: ignore[return-value]  # as above


def _loop(event: Event) -> Site | None:
    """The innermost loop that an event lies in, in whichever of its runs."""
    return next((scope.site for scope in reversed(event.scope.iterations())), None)
