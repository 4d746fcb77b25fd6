"""Which files contain an identifier: asked a few times they are searched, asked often they are indexed."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

_WORD = re.compile(rb"\w+")
_PLAIN = re.compile(r"\w+\Z", re.ASCII)
OFTEN = 40
"""Questions from which on an index is made: it takes as long as answering about so many by a search."""


def identifiers(code: bytes) -> frozenset[bytes]:
    """The identifiers in a text, in its comments and strings as well, and its numbers."""
    return frozenset(_WORD.findall(code))


class Mentions:
    """The identifiers of files, whose code `code` gives; what is not plain ASCII is searched for."""

    def __init__(self, code: Callable[[Path], bytes]) -> None:
        self._code = code
        self._asked = 0
        self._numbers: dict[Path, int] = {}
        self._index: dict[bytes, array[int]] = {}

    def of(self, names: Sequence[str], among: Iterable[Path]) -> list[Path]:
        """Those of the files that contain one of the names somewhere, in their order."""
        self._asked += 1
        if self._asked <= OFTEN or not all(map(_PLAIN.match, names)):
            return self._searched(names, among)
        among = list(among)
        self._add(among)
        found = {number for name in names for number in self._index.get(name.encode(), ())}
        return [path for path in among if self._numbers[path] in found]

    def _searched(self, names: Sequence[str], among: Iterable[Path]) -> list[Path]:
        needles = [name.encode() for name in names]
        whole = re.compile(rb"(?<!\w)(?:" + b"|".join(map(re.escape, needles)) + rb")(?!\w)")
        found = []
        for path in among:
            code = self._code(path)
            if any(needle in code for needle in needles) and whole.search(code):
                found.append(path)
        return found

    def _add(self, paths: Iterable[Path]) -> None:
        """Index files that are not yet in the index."""
        for path in paths:
            if path in self._numbers:
                continue
            number = self._numbers[path] = len(self._numbers)
            for name in identifiers(self._code(path)):
                places = self._index.get(name)
                if places is None:
                    places = self._index[name] = array("I")
                places.append(number)
