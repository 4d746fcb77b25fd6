"""Splits a scan into shards that need nothing of one another, by what their files cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.sources.project import Project
    from torch_doctor.static import FileOrder

BASE = 2_000
"""Bytes that looking at a file costs besides its own."""


class Shard(Struct, frozen=True):
    """One of `count` parts of a scan, the first of which has the number 1."""

    number: int
    count: int


class Sharing:
    """Deals the files of a scan out to its shards; every process that does it comes to the same."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._loads = [0] * shard.count

    def own(self, project: Project, order: FileOrder) -> list[Path]:
        """The files of a project that the shard looks at. Files that depend on each other stay together."""
        costs = {path: BASE + len(project.raw(path)) for path in order.files}
        groups = sorted(order.groups(), key=lambda group: (-sum(map(costs.__getitem__, group)), group))
        mine: set[Path] = set()
        for group in groups:
            place = self._loads.index(min(self._loads))
            self._loads[place] += sum(map(costs.__getitem__, group))
            if place == self._shard.number - 1:
                mine.update(group)
        return [path for path in order.files if path in mine]
