"""The objects of a run by their numbers: its own, and those that the files made that it imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from torch_doctor.static.values import Object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_doctor.static import program as p
    from torch_doctor.static.questions import Asked
    from torch_doctor.trace import Branch, Event, Guards, Scope

T = TypeVar("T", bound=Object)


class Image(Struct, frozen=True):
    """What the top level of an imported file did, beside binding its globals; a run that imports it later repeats that.

    `events` are its own, without those of the `imports` that it came to; `branches` are those that their guards number,
    `guards` and `scope` what the import itself lay in. `objects` are what it made, by class and number: a library has tens
    of thousands, nearly all lists and records of its configuration, so that nobody can walk them for each function.
    `entered` are the functions that it called, `asked` what it asked of the rest of the project, and of libraries. `modes` are
    those of torch that it switched, such as whether autograd records, as they were at its end.
    """

    events: Sequence[Event]
    branches: Sequence[Branch]
    guards: Guards
    scope: Scope
    imports: Sequence[Path]
    objects: dict[type[Object], list[Object]]
    entered: frozenset[p.Function]
    asked: Asked
    modes: Mapping[object, Any] = {}


class Saved(Struct, frozen=True):
    """A state of a registry: the run's own objects, and how many imports it had come to."""

    own: dict[int, Object]
    imports: int


class Imported:
    """The files that were imported: each is executed once for all runs of a scan."""

    def __init__(self) -> None:
        self.images: dict[Path, Image] = {}
        self._by_number: dict[int, Object] = {}

    def get(self, number: int) -> Object | None:
        """The object with this number."""
        return self._by_number.get(number)

    def keep(self, path: Path, image: Image) -> None:
        """Keep what a file left."""
        self.images[path] = image
        for things in image.objects.values():
            self._by_number.update((thing.id, thing) for thing in things)


class Registry:
    """The objects that one run can meet. `brought` are the imports of the run so far, and those of its imports.

    `under_way` are the imports of each file whose top level is being executed, the innermost last.
    """

    __slots__ = ("_images", "_imported", "_own", "brought", "under_way")

    def __init__(self, imported: Imported) -> None:
        self._imported = imported
        self._own: dict[int, Object] = {}
        self._images: dict[Path, Image] = {}
        self.brought: dict[Path, None] = {}
        self.under_way: list[dict[Path, None]] = []

    def get(self, number: int) -> Object | None:
        """The object with this number."""
        return self._own.get(number) or self._imported.get(number)

    def add(self, thing: Object) -> None:
        """Remember an object."""
        self._own[thing.id] = thing

    def of(self, kind: type[T]) -> list[T]:
        """Those of one class, the oldest first."""
        return [*self._brought(kind), *(thing for thing in self._own.values() if isinstance(thing, kind))]

    def _brought(self, kind: type[T]) -> Iterator[T]:
        for image in self._images.values():
            for cls, things in image.objects.items():
                if issubclass(cls, kind):
                    yield from things  # type: ignore[misc]  # the key is the class of the values

    def save(self) -> Saved:
        """The run's own and its imports, to come back to."""
        return Saved(dict(self._own), len(self.brought))

    def restore(self, saved: Saved) -> None:
        """Forget what the run has made and imported since this was saved."""
        self._own = dict(saved.own)
        self.forget_imports(saved.imports)

    def forget_imports(self, after: int) -> None:
        """Forget all imports but the first so many: they happen again."""
        while len(self.brought) > after:
            path, _ = self.brought.popitem()
            self._images.pop(path, None)

    def image(self, path: Path) -> Image | None:
        """What an imported file left; None where no run has come to the end of it."""
        return self._imported.images.get(path)

    def bring(self, path: Path, image: Image) -> None:
        """Let the run meet what an imported file has made."""
        if image.objects:
            self._images[path] = image

    def begin_import(self) -> dict[int, Object]:
        """Put the run's own aside for the execution of an imported file."""
        own, self._own = self._own, {}
        return own

    def share(self, path: Path, image: Image) -> None:
        """Let all runs that import a file have what it left, with the objects that were made since its import began."""
        for thing in self._own.values():
            image.objects.setdefault(thing.__class__, []).append(thing)
        self._imported.keep(path, image)
        self.bring(path, image)

    def end_import(self, own: dict[int, Object]) -> None:
        """Go on with the run's own."""
        self._own = own
