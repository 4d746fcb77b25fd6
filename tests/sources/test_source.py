"""Rows of the joined text, rows of cells, and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.sources.source import Cell, SourceFile
from torch_doctor.trace import Site

PLAIN = SourceFile(Path("/a.py"), "a.py", "one\r\ntwo\rthree\nfour\x0cfive\u2028six")
NOTEBOOK = SourceFile(
    Path("/a.ipynb"),
    "a.ipynb",
    "a\n\nb\nc\nd",
    (Cell(2, 1, 2), Cell(3, 3, 1), Cell(7, 4, 2)),
    original="a\n!ls\nb\nc\nd",
)


def test_lines_end_where_python_ends_them() -> None:
    assert PLAIN.lines == ["one", "two", "three", "four\x0cfive\u2028six"]


@pytest.mark.parametrize(("row", "place"), [(1, (2, 1)), (2, (2, 2)), (3, (3, 1)), (4, (7, 1)), (5, (7, 2))])
def test_a_row_lies_in_a_cell_and_can_be_found_again(row: int, place: tuple[int, int]) -> None:
    assert NOTEBOOK.place(row) == place
    site = NOTEBOOK.site(row, 1, row, 2)
    assert (site.cell, site.row, site.end_row) == (*place, place[1])
    assert NOTEBOOK.row_of(site) == row
    assert row in NOTEBOOK.row_range(site)


def test_a_plain_file_has_no_cells() -> None:
    assert PLAIN.place(3) == (None, 3)
    site = PLAIN.site(2, 1, 3, 4)
    assert site == Site("a.py", 2, 1, 3, 4)
    assert PLAIN.row_of(site) == 2
    assert PLAIN.row_range(site) == range(1, 5)


def test_a_notebook_displays_the_last_expression_of_a_cell() -> None:
    text = "m\nm.to(0)\n# there\n\nfor _ in m:\n    m.to(0)\nm.to(\n    0)"
    notebook = SourceFile(Path("/a.ipynb"), "a.ipynb", text, (Cell(1, 1, 4), Cell(3, 5, 4)))
    rows = [(1, 1, 1), (2, 1, 2), (6, 5, 6), (7, 1, 8)]
    assert [notebook.displays(notebook.site(row, column, end, 9)) for row, column, end in rows] == [
        False,
        True,
        False,
        True,
    ]
    assert not PLAIN.displays(PLAIN.site(4, 1, 4, 9))


def test_a_cell_is_shown_alone_and_as_it_was_written() -> None:
    assert NOTEBOOK.row_range(NOTEBOOK.site(2, 1, 2, 2)) == range(1, 3)
    assert NOTEBOOK.shown[1] == "!ls"
    assert NOTEBOOK.lines[1] == ""
