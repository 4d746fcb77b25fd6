"""Where lines of an older text of a document are in its newer one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.server.documents import Document
    from torch_doctor.trace import Site


class _Edited(Struct, frozen=True):
    """The one stretch of a part that may have changed: the lines from `first` to `last` of the older text, from 1.

    `last` is below `first` if lines were only inserted. The lines after it moved down by `below`.
    """

    number: int  # of the part, in the newer document
    first: int
    last: int
    below: int


class Movement:
    """What was typed between two versions of a document: of each file or cell, the lines between those that are the same."""

    def __init__(self, older: Document, newer: Document) -> None:
        numbers = {part.uri: number for number, part in enumerate(newer.parts, start=1)}
        self._edited = {
            number: _edited(part.lines, newer.parts[now - 1].lines, now)
            for number, part in enumerate(older.parts, start=1)
            if (now := numbers.get(part.uri)) is not None
        }

    def moved(self, site: Site, apart: int = 0) -> Site | None:
        """Return where a site is now; None if it has changed.

        `apart`: so many lines above and below it must not have changed either.
        """
        edited = self._edited.get(site.cell or 1)
        if edited is None:
            return None
        cell = None if site.cell is None else edited.number
        if site.end_row + apart < edited.first:
            return site._replace(cell=cell)
        if site.row - apart > edited.last:
            return site._replace(row=site.row + edited.below, end_row=site.end_row + edited.below, cell=cell)
        return None


def _edited(older: Sequence[str], newer: Sequence[str], number: int) -> _Edited:
    shorter = min(len(older), len(newer))
    above = next((row for row in range(shorter) if older[row] != newer[row]), shorter)
    rest = range(1, shorter - above + 1)
    same = next((row - 1 for row in rest if older[-row] != newer[-row]), shorter - above)
    return _Edited(number, above + 1, len(older) - same, len(newer) - len(older))
