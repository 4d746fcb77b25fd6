"""Where something happened in what people wrote, exact to the column."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """A range of source code."""

    path: str
    """The file."""
    row: int
    """The first line, from 1; in a notebook, within the cell."""
    column: int
    """The first column, from 1, in code points."""
    end_row: int
    """The last line."""
    end_column: int
    """The column after the last one."""
    cell: int | None = None
    """The number of the notebook cell, from 1, counting all cells; None for other files."""

    def __str__(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.path}:{cell}{self.row}:{self.column}"
