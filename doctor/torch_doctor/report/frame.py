"""A few rows of source with a place in it underlined."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from torch_doctor.report.reported import Look, Source
    from torch_doctor.trace import Site

TAB = "    "
MOST_ROWS = 4  # of a place that goes over many
LEAST_WIDTH = 20
MOST_WIDTH = 300  # where nobody says how wide a row may be: data, or a notebook in one line


class Underline(Struct, frozen=True):
    """What a frame's mark looks like, and how many rows are shown around it."""

    mark: str
    style: str
    context: int


def frame(site: Site, source: Source, look: Look, underline: Underline, gutter: int) -> list[str]:
    """The rows around a site, numbered as in the file or cell; `gutter` is the width of the numbers."""
    paint = look.paint
    rows, allowed = source.shown, source.row_range(site)
    first = source.row_of(site)
    if first not in allowed or first > len(rows):
        return []
    shift = first - site.row
    last = min(site.end_row + shift, first + MOST_ROWS - 1)
    begin = max(first - underline.context, allowed.start)
    end = min(last + underline.context, allowed.stop - 1, len(rows))
    while begin < first and not rows[begin - 1].strip():
        begin += 1
    while end > last and not rows[end - 1].strip():
        end -= 1
    room = max((look.width or MOST_WIDTH) - gutter - 3, LEAST_WIDTH)
    bar = f"{' ' * gutter} {paint('|', 'blue')}"
    start, stop = _columns(site, rows[first - 1])
    offset = _offset(rows[first - 1], start, stop, room)
    result = [bar] if underline.context else []
    for row in range(begin, end + 1):
        text = _clip(visible(rows[row - 1]), offset, room)
        result.append(f"{paint(f'{row - shift:>{gutter}} |', 'blue')} {text}".rstrip())
        if row == first:
            before, marked = _cells(rows[row - 1][:start]), max(_cells(rows[row - 1][start:stop]), 1)
            lead = before - offset
            lead = min(lead, room - 1)  # a mark of no width, behind the last column, stands in it
            marked = max(min(marked, room - lead), 1)
            result.append(f"{bar} {' ' * lead}{paint(underline.mark * marked, 'bold', underline.style)}")
    return result


def _columns(site: Site, line: str) -> tuple[int, int]:
    """Where the mark begins and ends in the site's first row, from 0."""
    start = min(site.column - 1, len(line))
    stop = min(site.end_column - 1, len(line)) if site.end_row == site.row else len(line.rstrip())
    return start, max(stop, start)


def visible(text: str) -> str:
    """Text that does to a terminal nothing but stand there."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\t", TAB)
    return "".join(
        char if unicodedata.category(char) not in ("Cc", "Cs", "Cf", "Zl", "Zp") else "\ufffd" for char in text
    )


def _cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    text = visible(text)
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - only for text that is not ASCII

    return cell_len(text)


def _offset(line: str, start: int, stop: int, room: int) -> int:
    """How many columns are cut off on the left, so that the mark is seen."""
    if _cells(line) <= room or _cells(line[:stop]) <= room:
        return 0
    begin, end = _cells(line[:start]), _cells(line[:stop])
    return min(begin, max(end - room, 0)) if end - begin < room else begin


def _clip(text: str, offset: int, room: int) -> str:
    if offset == 0 and text.isascii() and len(text) <= room:
        return text
    from rich.cells import set_cell_size  # noqa: PLC0415 - only for rows that are too long

    column, position = 0, 0
    while column < offset and position < len(text):
        column += _cells(text[position])
        position += 1
    rest = " " * (column - offset) + text[position:]
    return set_cell_size(rest, room).rstrip() if _cells(rest) > room else rest
