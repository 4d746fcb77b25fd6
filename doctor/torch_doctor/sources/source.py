"""One file of source as the witnesses see it: decoded text, and where each row lies in a notebook."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.pattern import pattern
from torch_doctor.trace.site import Site

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.sources.cell_places import CellPlaces

NEWLINE = pattern(r"\r\n|\r|\n")  # what Python takes for the end of a line; str.splitlines knows more


class Cell(Struct, frozen=True):
    """A code cell: its `number` among all cells of the notebook (from 1) and the rows it fills in the joined text.

    `blanked` tells that none of its code is in the joined text: it is not Python, or no valid Python. `indent`: so many
    code points stand before each of its rows that the joined text leaves out. `older`: it is valid for an older Python only,
    and the joined text has other characters in some places of it.
    """

    number: int
    first_row: int
    rows: int
    blanked: bool = False
    indent: int = 0
    older: bool = False


class SourceFile(Struct, frozen=True, dict=True):
    """A file that was read: `path` is absolute, `display` is what users see and what a `Site` carries.

    `text` is decoded, without a byte order mark; of a notebook it is all code cells, one below the other, with what is
    not Python blanked in place. `original` is what stands in the file, row for row; of a notebook that is none, its JSON.
    `older`: it is not a notebook, is valid for an older Python only, and `text` has other characters in some places.
    """

    path: Path
    display: str
    text: str
    cells: tuple[Cell, ...] | None = None
    original: str | None = None
    older: bool = False

    @cached_property
    def lines(self) -> list[str]:
        """The rows of `text`, without their ends."""
        return NEWLINE.split(self.text)

    @cached_property
    def shown(self) -> list[str]:
        """The rows as they stand in the file, for people to read."""
        return self.lines if self.original is None else NEWLINE.split(self.original)

    def place(self, row: int) -> tuple[int | None, int]:
        """The cell number and the row in it of a row of `text`; (None, row) in a plain file."""
        cell = self._cell(row)
        return (None, row) if cell is None else (cell.number, row - cell.first_row + 1)

    def row_of(self, site: Site) -> int:
        """The row of `text` that a site in this file lies on: the inverse of `place`."""
        return site.row + self._offset(site.cell)

    def row_in_file(self, site: Site) -> int:
        """The row of the file itself that a site begins on: of a notebook, in its JSON; 1 where that cannot be told."""
        if site.cell is None:
            return site.row
        place = self.place_in_file(site.cell, site.row, 1)
        return 1 if place is None else place[0]

    def place_in_file(self, cell: int, row: int, column: int) -> tuple[int, int] | None:
        """Return line and column of a place in a cell in the JSON of the notebook; None where that is unknown."""
        return None if self._in_file is None else self._in_file.place(cell, row, column)

    @property
    def lines_in_file(self) -> list[str]:
        """The lines of the file itself: of a notebook, of its JSON, or none if that cannot be read."""
        if self.cells is None:
            return self.shown
        return [] if self._in_file is None else self._in_file.lines

    @cached_property
    def _in_file(self) -> CellPlaces | None:
        """Where the cells of the notebook are in the file, which is read again, as few callers need that."""
        from torch_doctor.sources.cell_places import CellPlaces  # noqa: PLC0415 - only if a finding lies in a notebook

        try:
            return CellPlaces(self.path.read_text(encoding="utf-8-sig"), NEWLINE.split)
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def is_older(self, site: Site) -> bool:
        """Return whether a site lies in source for an older Python, of which `text` is not what stands in the file."""
        return self.older or any(cell.older for cell in self.cells or () if cell.number == site.cell)

    def row_range(self, site: Site) -> range:
        """The rows of `text` that are shown with a site: those of its cell, or of the whole file."""
        for cell in self.cells or ():
            if cell.number == site.cell:
                return range(cell.first_row, cell.first_row + cell.rows)
        return range(1, len(self.shown) + 1)

    def site(self, row: int, column: int, end_row: int, end_column: int) -> Site:
        """A site of this file, from rows of `text` and columns from 1 in code points."""
        number, placed = self.place(row)
        cell = self._cell(row)
        indent = 0 if cell is None else cell.indent
        return Site(self.display, placed, column + indent, end_row - row + placed, end_column + indent, number)

    def laid(self, site: Site) -> Site:
        """Where a site of this file lies in `text`: the inverse of `site`, for a place on one row."""
        if site.cell is None:
            return site
        row = self.row_of(site)
        cell = self._cell(row)
        indent = 0 if cell is None else cell.indent
        below, left = row - site.row, site.column - indent
        return Site(site.path, row, left, site.end_row + below, site.end_column - indent)

    def displays(self, site: Site) -> bool:
        """Whether it is a notebook that shows the value of the expression at `site`: the last of its cell."""
        rows = self.row_range(site)[site.end_row :] if site.cell is not None and site.column == 1 else None
        return rows is not None and all(self.lines[row - 1].lstrip()[:1] in ("", "#") for row in rows)

    def _cell(self, row: int) -> Cell | None:
        if not self.cells:
            return None
        return self.cells[max(bisect_right(self.cells, row, key=lambda cell: cell.first_row) - 1, 0)]

    def _offset(self, number: int | None) -> int:
        for cell in self.cells or ():
            if cell.number == number:
                return cell.first_row - 1
        return 0


class Problem(Struct, frozen=True):
    """A place where source cannot be read, with the reader's own word.

    `wrong` is False where nothing is wrong with the source: only this interpreter, or its limits, cannot read it.
    `older`: it is valid for an older Python, and was read as that.
    """

    site: Site
    reason: str
    wrong: bool = True
    older: bool = False
