"""What a run knows of each kind of thing, and who watches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from torch_doctor.static.domains.domain import Written
from torch_doctor.static.hooks import Hooks
from torch_doctor.static.observer import observers

if TYPE_CHECKING:
    from torch_doctor.static.domains.domain import Domain
    from torch_doctor.static.heap import Heap
    from torch_doctor.static.knowledge import Knowledge
    from torch_doctor.static.observer import Observer
    from torch_doctor.static.values import Value
    from torch_doctor.trace import Event

    K = TypeVar("K", bound=Knowledge)

F = TypeVar("F")


class Knowing:
    """The knowledge of one run, each kind kept by its class, and its observers.

    `wanted` are the events that somebody reads, None for all.
    """

    heap: Heap

    def __init__(self, wanted: frozenset[type[Event]] | None) -> None:
        self.wanted = wanted
        self._known: dict[type[Knowledge], Knowledge] = {}
        self._settled: dict[type[Knowledge], Knowledge] = {}
        self.observers = self._watched()

    def of(self, kind: type[K]) -> K:
        """What this run knows of one kind of thing."""
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = kind(self.heap)
        return known  # type: ignore[return-value]  # the key is the class of the value

    def ask(self, domain: type[Domain[F]], value: Value | None) -> F:
        """What one domain answers for a value, on this path; that it is unknown, where there is none."""
        asked = self.of(domain)
        return asked.unknown() if value is None else asked.ask(value, self.of(Written).made)

    def exchange(self, kind: type[K], known: K) -> K:
        """Let the run know something else of one kind, and return what it knew."""
        before = self.of(kind)
        self._known[kind] = known
        return before

    def settle(self) -> None:
        """What is known now is what every further run begins with."""
        self._settled = {kind: known.again() for kind, known in self._known.items()}

    def begin_again(self) -> None:
        """Forget what was learned since `settle`."""
        self._known = {kind: known.again() for kind, known in self._settled.items()}
        self.observers = self._watched()

    def known(self) -> dict[type[Knowledge], Knowledge]:
        """What is known now, in a copy."""
        return {kind: known.copied() for kind, known in self._known.items()}

    def know(self, known: dict[type[Knowledge], Knowledge]) -> None:
        """Know this, and nothing else."""
        self._known = {kind: known.copied() for kind, known in known.items()}
        self.observers = self._watched()

    def _watched(self) -> Hooks:
        """Those who watch this run, listening."""
        return Hooks(tuple(self.of(each) for each in observers() if self.watches(each)))

    def watches(self, observer: type[Observer]) -> bool:
        """Whether an observer is there: somebody reads an event that it writes."""
        if self.wanted is None:
            return not observer.asked_for
        return not self.wanted.isdisjoint(observer.writes)
