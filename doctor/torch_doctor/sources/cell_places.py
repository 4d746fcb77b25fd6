"""Where in the text of a notebook the sources of its cells stand."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPACE = pattern(r"[ \t\n\r]*")
CHARACTER = pattern(r"(?s)\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.")
"""A code point in a JSON string, which may be escaped."""
Span = tuple[int, int]
DECODER = JSONDecoder(strict=False)


def sources_in(text: str) -> dict[int, Span]:
    """Where the source of each cell begins and ends, by the cell's number from 1.

    Raises:
        ValueError: it is not a notebook.
    """
    found: dict[int, Span] = {}
    try:
        for key, span in _members(text, _start(text, 0)):
            if key == "cells":
                for number, cell in enumerate(_items(text, span[0]), start=1):
                    found.update((number, place) for name, place in _members(text, cell[0]) if name == "source")
    except (JSONDecodeError, StopIteration, IndexError) as error:
        message = "it is not a notebook"
        raise ValueError(message) from error
    return found


class CellPlaces:
    """Where each character of the cells of a notebook is in its text."""

    def __init__(self, text: str, split: Callable[[str], list[str]]) -> None:
        """`split` returns the rows of a source.

        Raises:
            ValueError: it is not a notebook.
        """
        self.lines = text.split("\n")
        """The lines of the text."""
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self._offsets = {number: list(_offsets(text, span, split)) for number, span in sources_in(text).items()}

    def rows(self, cell: int) -> int:
        """Return the number of rows of a cell."""
        return len(self._offsets.get(cell, ()))

    def place(self, cell: int, row: int, column: int) -> tuple[int, int] | None:
        """Return line and column in the text, from 1, of a place in a cell; None if the cell has no such row."""
        if not 1 <= row <= self.rows(cell):
            return None
        offsets = self._offsets[cell][row - 1]
        offset = offsets[min(column, len(offsets)) - 1]
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def _offsets(text: str, span: Span, split: Callable[[str], list[str]]) -> Iterator[list[int]]:
    """Yield for each row of a source where its characters are in the text, and where what follows it is."""
    pieces = list(_items(text, span[0])) if text[span[0]] == "[" else [span]
    if not pieces:
        return
    places = [each.start() for start, end in pieces for each in CHARACTER.finditer(text, start + 1, end - 1)]
    places.append(pieces[-1][1] - 1)
    source = "".join(DECODER.raw_decode(text, start)[0] for start, _ in pieces)
    done = 0
    for row in split(source):
        end = done + len(row)
        yield places[done : end + 1]
        done = end + (2 if source.startswith("\r\n", end) else 1)


def _start(text: str, position: int) -> int:
    """The place of the next character that is no white space."""
    space = SPACE.match(text, position)
    return space.end() if space else position


def _value(text: str, position: int) -> Span:
    start = _start(text, position)
    return start, DECODER.raw_decode(text, start)[1]


def _members(text: str, position: int) -> Iterator[tuple[str, Span]]:
    """The keys of an object, and where their values lie."""
    if text[position] != "{":
        message = "it is not a notebook"
        raise ValueError(message)
    position = _start(text, position + 1)
    while text[position] != "}":
        key, position = DECODER.raw_decode(text, position)
        span = _value(text, _start(text, position) + 1)
        yield key, span
        position = _after(text, span)


def _items(text: str, position: int) -> Iterator[Span]:
    """Where the items of an array lie."""
    if text[position] != "[":
        message = "it is not a notebook"
        raise ValueError(message)
    position = _start(text, position + 1)
    while text[position] != "]":
        span = _value(text, position)
        yield span
        position = _after(text, span)


def _after(text: str, span: Span) -> int:
    """The next member or item, or the bracket that ends them."""
    position = _start(text, span[1])
    return _start(text, position + 1) if text[position] == "," else position
