"""Which fixtures go under which transformations, and what is known not to hold yet.

The latter is `known_breaks.txt`, one fixture a line with its transformations. It may only shrink.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.metamorphic.transformation import Transformation

KNOWN = Path(__file__).with_name("known_breaks.txt")

HEADER = "# What is known not to hold yet: a fixture, and transformations that change its findings. This list may only shrink."

Pair = tuple[str, str]
"""The name of a fixture and the name of a transformation."""


def read_known() -> set[Pair]:
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines if line and not line.startswith("#"))
    return {(fixture.removesuffix(":"), name) for fixture, *names in rows for name in names}


def write_known(pairs: Iterable[Pair]) -> None:
    KNOWN.write_text("".join(f"{line}\n" for line in [HEADER, *lines_of(pairs)]), encoding="utf-8")


def lines_of(pairs: Iterable[Pair]) -> list[str]:
    """The pairs as lines of the file."""
    by_fixture: dict[str, list[str]] = {}
    for fixture, name in sorted(pairs):
        by_fixture.setdefault(fixture, []).append(name)
    return [f"{fixture}: {' '.join(names)}" for fixture, names in by_fixture.items()]


def sample(fixtures: Iterable[str], chosen: Sequence[Transformation], one_in: int) -> Iterator[tuple[str, list[str]]]:
    """Fixtures, each with the transformations that it is to go under: of all pairs one in so many, always the same."""
    transformations = [(one.name, one.name.encode()) for one in chosen]
    for fixture in fixtures:
        begun = zlib.crc32(f"{fixture} ".encode())
        names = [name for name, encoded in transformations if not zlib.crc32(encoded, begun) % one_in]
        if names:
            yield fixture, names
