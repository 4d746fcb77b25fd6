"""Where the rows of cells stand in the text of a notebook."""

from __future__ import annotations

import json

import pytest

from torch_doctor.sources.cell_places import CellPlaces
from torch_doctor.sources.source import NEWLINE

NOTEBOOK = r"""{
 "metadata": {"cells": [{"source": "no"}]},
 "cells": [
  {"cell_type": "markdown", "source": ["a\n", "b"]},
  {"source": [
    "x = 1\n",
    "y = (\n2\n",
    ")",
    "  # on\n",
    "z"
   ], "cell_type": "code"},
  {
   "source": "a\nb\r\nc"
  },
  {"source": []},
  {"source": ""}
 ]
}
"""


def lines_of(text: str, cell: int) -> list[int]:
    """The lines of the notebook on which the rows of a cell start."""
    places = CellPlaces(text, NEWLINE.split)
    found = [places.place(cell, row, 1) for row in range(1, places.rows(cell) + 1)]
    return [place[0] for place in found if place is not None]


def test_each_row_of_a_cell_has_one_of_the_file() -> None:
    found = {cell: lines_of(NOTEBOOK, cell) for cell in range(1, 6)}
    assert found == {1: [4, 4], 2: [6, 7, 7, 8, 10], 3: [13, 13, 13], 4: [], 5: [16]}
    texts = NOTEBOOK.splitlines()
    assert [texts[row - 1].strip()[:3] for row in found[2]] == ['"x ', '"y ', '"y ', '")"', '"z"']


def test_rows_end_where_json_and_editors_end_them() -> None:
    text = json.dumps({"cells": [{"source": ["one\u2028\n", "two"]}]}, indent=1, ensure_ascii=False)
    rows = lines_of(text, 1)
    assert [text.split("\n")[row - 1].strip()[:4] for row in rows] == ['"one', '"two']


@pytest.mark.parametrize("text", ["[]", "{", "", '{"cells": 3}', '{"cells": [3]}', '{"cells": [{"source": 3}]}'])
def test_what_is_no_notebook_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        CellPlaces(text, NEWLINE.split)


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    "pieces", [["a = 'é\\t🔥'\n", "\n", "b\r\n", "c"], "a = 'é\\t🔥'\n\nb\r\nc", ["", "a = ", "'é\\t🔥'\n\nb\r", "\nc"]]
)
def test_each_character_of_a_cell_is_found_in_the_json(pieces: list[str] | str, escaped: bool) -> None:
    text = json.dumps({"cells": [{"source": pieces}]}, indent=1, ensure_ascii=escaped)
    places, lines = CellPlaces(text, NEWLINE.split), text.split("\n")
    for number, row in enumerate(["a = 'é\\t🔥'", "", "b", "c"], start=1):
        for column, character in enumerate(row, start=1):
            line, place = places.place(1, number, column) or (0, 0)
            end_line, end = places.place(1, number, column + 1) or (0, 0)
            written = lines[line - 1][place - 1 : end - 1 if line == end_line else None]
            assert json.loads(f'"{written.split(chr(34))[0]}"') == character
    assert places.place(1, 5, 1) is None
    assert places.place(2, 1, 1) is None
