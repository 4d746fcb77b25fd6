"""Sites of findings: each is reported once, however often it is executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.rule import Finding
    from torch_doctor.trace import Event

E = TypeVar("E", bound="Event | Finding")


def first_per_site(things: Iterable[E]) -> Iterator[E]:
    """The first of the events or findings at each place."""
    seen = set()
    for thing in things:
        if thing.site not in seen:
            seen.add(thing.site)
            yield thing
