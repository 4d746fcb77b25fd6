"""Whose turn it is in a scan, and what is known by then: a file comes after those that import it."""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static import Followed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_doctor.static import FileOrder
    from torch_doctor.static.followed import Defined
    from torch_doctor.trace import Site


class Turn(Struct, frozen=True):
    """A file whose turn it is, and what the runs of those that import it have come to."""

    path: Path
    before: Followed


class Gathering:
    """What the runs of all files have come to, and whose turn it is: a file comes after those that import it.

    `files` are those that are looked at, with all that import them. `shown` gives the name that sites in a file carry.
    """

    def __init__(self, order: FileOrder, files: Sequence[Path], shown: Callable[[Path], str]) -> None:
        self._order = order
        self._shown = shown
        self._entered: dict[str, list[tuple[Path, frozenset[Defined]]]] = defaultdict(list)
        self._whole: dict[str, list[Path]] = defaultdict(list)
        self._read: dict[str, list[tuple[Path, Site]]] = defaultdict(list)
        self._waiting: dict[Path, list[Path]] = defaultdict(list)  # files, by one of those that they wait for
        self._done = 0  # the numbers of files, a bit for each
        self._ready: list[int] = []
        for path in files:
            self._look(path)

    def ready(self) -> Turn | None:
        """The first file whose turn it is, and that was not given before."""
        return self.turn(self._order.files[heapq.heappop(self._ready)]) if self._ready else None

    def turn(self, path: Path) -> Turn:
        """A file with what is known of it by now."""
        above, own = frozenset(self._order.above(path)), str(path)
        if not above:
            return Turn(path, Followed())
        entered = [
            functions
            for other in self._order.below(path)
            for author, functions in self._entered.get(str(other), ())
            if author in above
        ]
        whole = frozenset({own} if not above.isdisjoint(self._whole.get(own, ())) else ())
        read = frozenset(site for author, site in self._read.get(self._shown(path), ()) if author in above)
        return Turn(path, Followed(frozenset().union(*entered), whole=whole, read=read))

    def take(self, path: Path, came_to: Followed) -> None:
        """The runs of a file have come to this."""
        entered: dict[str, set[Defined]] = defaultdict(set)
        for function in came_to.entered:
            entered[function[0]].add(function)
        for home, functions in entered.items():
            self._entered[home].append((path, frozenset(functions)))
        for home in came_to.whole:
            self._whole[home].append(path)
        for site in came_to.read:
            self._read[site.path].append((path, site))
        self._done |= 1 << self._order.number(path)
        for other in self._waiting.pop(path, ()):
            self._look(other)

    def _look(self, path: Path) -> None:
        """A file is ready, or waits for one of those that import it."""
        other = self._order.last_above(path, self._done)
        if other is None:
            heapq.heappush(self._ready, self._order.number(path))
        else:
            self._waiting[other].append(path)
