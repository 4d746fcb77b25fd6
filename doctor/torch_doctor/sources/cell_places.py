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
Span = tuple[int, int]
DECODER = JSONDecoder(strict=False)


def sources_in(text: str) -> dict[int, Span]:
    """Where the source of each cell begins and ends, by the cell's number from 1.

    Raises:
        ValueError: it is no notebook.
    """
    found: dict[int, Span] = {}
    try:
        for key, span in _members(text, _start(text, 0)):
            if key == "cells":
                for number, cell in enumerate(_items(text, span[0]), start=1):
                    found.update((number, place) for name, place in _members(text, cell[0]) if name == "source")
    except (JSONDecodeError, StopIteration, IndexError) as error:
        message = "it is no notebook"
        raise ValueError(message) from error
    return found


def rows_in(text: str, split: Callable[[str], list[str]]) -> dict[int, list[int]]:
    """The row of the notebook's text, from 1, that each row of a cell stands on, by the cell's number from 1.

    `split` tells the rows of a source.

    Raises:
        ValueError: it is no notebook.
    """
    ends = list(accumulate(len(line) + 1 for line in text.split("\n")))
    return {number: _rows(text, span, ends, split) for number, span in sources_in(text).items()}


def _rows(text: str, span: Span, ends: list[int], split: Callable[[str], list[str]]) -> list[int]:
    """The rows of the text that those of one source stand on; `ends`: where the rows of the text end."""
    pieces = list(_items(text, span[0])) if text[span[0]] == "[" else [span]
    found: list[int] = []
    begins = True
    for start, _ in pieces:
        row = bisect_right(ends, start) + 1
        lines = split(DECODER.raw_decode(text, start)[0])
        if begins:  # else the piece goes on with the row that the one before it has begun
            found[-1:] = [row]
        found += [row] * (len(lines) - 1)
        begins = len(lines) > 1 and not lines[-1]
    return found


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
        message = "it is no notebook"
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
        message = "it is no notebook"
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
