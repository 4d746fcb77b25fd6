"""What earlier attempts have learnt of the script, as far as a stand-in asks for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


FEWER = 8  # of which one is made up where there was no time for all


class Learnt:
    """The lessons of a plan: each has a `kind`, says what it is about (`what`), and what that has to be (`value`).

    Who asks for one uses it; that is told, by its number.
    """

    def __init__(self, lessons: Sequence[Mapping[str, Any]], used: Callable[[int], None]) -> None:
        self._lessons = lessons
        self._used = used
        self._told: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._lessons)

    def of(self, kind: str, what: str | None = None) -> Any:
        """What was learnt last of a kind, about something; None where nothing was."""
        return next(iter(self.all(kind, what)), None)

    def all(self, kind: str, what: str | None = None) -> Iterator[Any]:
        """All that was learnt of a kind, about something, the last first."""
        for number, lesson in reversed(list(enumerate(self._lessons))):
            if lesson["kind"] == kind and what in (None, lesson["what"]):
                if number not in self._told:
                    self._told.add(number)
                    self._used(number)
                yield lesson["value"]

    def kinds(self) -> set[str]:
        """The kinds of which there are lessons."""
        return {each["kind"] for each in self._lessons}

    def fewer(self, count: int) -> int:
        """How many of so many are made up: a part of them, where there was no time for all."""
        return max(1, count // FEWER) if self and self.of("time") else count

    def names(self, kind: str) -> list[str]:
        """What there are lessons of a kind about."""
        return list(dict.fromkeys(each["what"] for each in self._lessons if each["kind"] == kind))

    def looked(self, kind: str) -> list[Any]:
        """What was learnt of a kind, without using it."""
        return [each["value"] for each in self._lessons if each["kind"] == kind]

    def form(self, path: Any) -> str | None:
        """What a file that is not there has to be."""
        found = self.of("file", os.fspath(path)) if self and isinstance(path, (str, os.PathLike)) else None
        return str(found) if found is not None else None

    def whole(self) -> bool:
        """Whether made-up numbers have to be whole ones."""
        return bool(self and self.of("whole"))

    def below(self, high: int) -> int:
        """What made-up whole numbers stay below, where that is usually `high`."""
        least = min(self.all("range"), default=high) if self else high
        return min(high, int(least))
