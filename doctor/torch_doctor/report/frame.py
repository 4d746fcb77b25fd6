"""A few rows of source with a place in it underlined."""

from __future__ import annotations

import textwrap
import unicodedata
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.report.reported import Look, Source
    from torch_doctor.trace import Site

TAB = "    "
MOST_ROWS = 4  # of a place that goes over many
LEAST_WIDTH = 20
MOST_WIDTH = 300  # where nobody says how wide a row may be: data, or a notebook in one line


class Mark(Struct, frozen=True):
    """A place that is underlined, with what, how many rows are shown around it, and the words behind the line."""

    site: Site
    sign: str
    style: str
    context: int = 0
    label: str = ""


def frame(marks: Sequence[Mark], source: Source, look: Look, gutter: int) -> list[str]:
    """The rows of several places in one file or cell, each once, numbered; `gutter` is the width of the numbers."""
    rows = source.shown
    shift = source.row_of(marks[0].site) - marks[0].site.row
    allowed = source.row_range(marks[0].site)
    shown: set[int] = set()
    begins: dict[int, list[Mark]] = {}
    for mark in marks:
        first = mark.site.row + shift
        if first not in allowed or first > len(rows):
            continue
        last = min(mark.site.end_row + shift, first + MOST_ROWS - 1)
        begin = max(first - mark.context, allowed.start)
        end = min(last + mark.context, allowed.stop - 1, len(rows))
        while begin < first and not rows[begin - 1].strip():
            begin += 1
        while end > last and not rows[end - 1].strip():
            end -= 1
        shown.update(range(begin, end + 1))
        begins.setdefault(first, []).append(mark)
    shown |= {row + 1 for row in shown if row + 2 in shown}  # a single row between is no longer than the sign for it
    result: list[str] = []
    done = 0
    for row in sorted(shown):
        if done and row > done + 1:
            result.append(f"{' ' * gutter} {look.paint('⋮', 'blue')}")
        result += _row(rows[row - 1], row - shift, _joined(begins.get(row, ())), look, gutter)
        done = row
    return result


def note(label: str, text: str, look: Look, gutter: int) -> list[str]:
    """Return a labelled text below a frame, wrapped to the width of the look."""
    indent = " " * gutter + " = "
    shown = indent + label + text
    if look.width is not None:
        shown = textwrap.fill(
            shown,
            look.width,
            subsequent_indent=" " * (gutter + 3 + len(label)),
            break_long_words=False,
            break_on_hyphens=False,
        )
    head, tail = shown[: gutter + 3], shown[gutter + 3 :]
    return (look.paint(head, "blue") + look.paint(tail[: len(label)], "bold") + tail[len(label) :]).split("\n")


def _joined(marks: Sequence[Mark]) -> list[Mark]:
    """The marks of a row, one for each place, from the left; the first at a place gives it its look."""
    found: dict[Site, Mark] = {}
    for mark in marks:
        if mark.site in found:
            labels = [label for label in (found[mark.site].label, mark.label) if label]
            found[mark.site] = replace(found[mark.site], label="; ".join(labels))
        else:
            found[mark.site] = mark
    return sorted(found.values(), key=lambda mark: mark.site.column)


def _row(line: str, number: int, marks: Sequence[Mark], look: Look, gutter: int) -> list[str]:
    """A row of source, and the marks of what begins in it, a row for each."""
    paint = look.paint
    room = max((look.width or MOST_WIDTH) - gutter - 3, LEAST_WIDTH)
    offset = _offset(line, *_columns(marks[0].site, line), room) if marks else 0
    bar = f"{' ' * gutter} {paint('|', 'blue')}"
    result = [f"{paint(f'{number:>{gutter}} |', 'blue')} {_clip(visible(line), offset, room)}".rstrip()]
    for mark in marks:
        start, stop = _columns(mark.site, line)
        before, marked = _cells(line[:start]), max(_cells(line[start:stop]), 1)
        lead = max(min(before - offset, room - 1), 0)  # a mark of no width, behind the last column, stands in it
        marked = max(min(marked, room - lead), 1)
        under = f"{bar} {' ' * lead}{paint(mark.sign * marked, 'bold', mark.style)}"
        left = room - lead - marked - 1
        fits = len(mark.label) <= left
        result.append(f"{under} {paint(mark.label, mark.style)}" if mark.label and fits else under)
        if mark.label and not fits:
            beginning = " " * min(lead, room // 2)
            wrapped = textwrap.wrap(mark.label, room - len(beginning), break_long_words=False, break_on_hyphens=False)
            result += [f"{bar} {beginning}{paint(text, mark.style)}" for text in wrapped]
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
