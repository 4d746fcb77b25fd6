"""The objects of a run by their numbers: its own, and those that the imported files made."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from torch_doctor.static.values import Object

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T", bound=Object)


class Imported:
    """The objects that the imported files made, which all runs of a scan share.

    A library has tens of thousands of them, nearly all lists and records of its configuration, so that nobody can walk them for
    each function that is run: they are kept by class.
    """

    def __init__(self) -> None:
        self._by_number: dict[int, Object] = {}
        self._by_class: dict[type[Object], dict[int, Object]] = {}

    def get(self, number: int) -> Object | None:
        """The object with this number."""
        return self._by_number.get(number)

    def update(self, objects: dict[int, Object]) -> None:
        """Keep these, too."""
        self._by_number.update(objects)
        for number, thing in objects.items():
            self._by_class.setdefault(thing.__class__, {})[number] = thing

    def of(self, kind: type[T]) -> Iterator[T]:
        """Those of one class."""
        for cls, things in self._by_class.items():
            if issubclass(cls, kind):
                yield from things.values()  # type: ignore[misc]  # the key is the class of the values


class Registry:
    """The objects that one run can meet."""

    __slots__ = ("_imported", "_own")

    def __init__(self, imported: Imported) -> None:
        self._imported = imported
        self._own: dict[int, Object] = {}

    def get(self, number: int) -> Object | None:
        """The object with this number."""
        return self._own.get(number) or self._imported.get(number)

    def add(self, thing: Object) -> None:
        """Remember an object."""
        self._own[thing.id] = thing

    def of(self, kind: type[T]) -> list[T]:
        """Those of one class, the oldest first."""
        own = (thing for thing in self._own.values() if isinstance(thing, kind))
        return [*self._imported.of(kind), *own]

    def save(self) -> dict[int, Object]:
        """The run's own, to come back to."""
        return dict(self._own)

    def restore(self, own: dict[int, Object]) -> None:
        """Forget what the run has made since these were saved."""
        self._own = dict(own)

    def begin_import(self) -> dict[int, Object]:
        """Put the run's own aside for the execution of an imported file."""
        own, self._own = self._own, {}
        return own

    def share(self) -> None:
        """Let all runs have what the imported file has made."""
        self._imported.update(self._own)

    def end_import(self, own: dict[int, Object]) -> None:
        """Go on with the run's own."""
        self._own = own
