"""Where something happened in what people wrote, exact to the column."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """A stretch of source; rows and columns from 1, columns in code points, `end_column` exclusive.

    `cell` counts all cells of a notebook from 1 (rows restart in each), and is None in a plain file.
    """

    path: str
    row: int
    column: int
    end_row: int
    end_column: int
    cell: int | None = None

    def __str__(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.path}:{cell}{self.row}:{self.column}"
