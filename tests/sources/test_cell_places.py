"""Where the rows of cells stand in the text of a notebook."""

from __future__ import annotations

import json

import pytest

from torch_doctor.sources.cell_places import rows_in
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


def test_each_row_of_a_cell_has_one_of_the_file() -> None:
    found = rows_in(NOTEBOOK, NEWLINE.split)
    assert found == {1: [4, 4], 2: [6, 7, 7, 8, 10], 3: [13, 13, 13], 4: [], 5: [16]}
    texts = NOTEBOOK.splitlines()
    assert [texts[row - 1].strip()[:3] for row in found[2]] == ['"x ', '"y ', '"y ', '")"', '"z"']


def test_rows_end_where_json_and_editors_end_them() -> None:
    text = json.dumps({"cells": [{"source": ["one\u2028\n", "two"]}]}, indent=1, ensure_ascii=False)
    rows = rows_in(text, NEWLINE.split)[1]
    assert [text.split("\n")[row - 1].strip()[:4] for row in rows] == ['"one', '"two']


@pytest.mark.parametrize("text", ["[]", "{", "", '{"cells": 3}', '{"cells": [3]}', '{"cells": [{"source": 3}]}'])
def test_what_is_no_notebook_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        rows_in(text, NEWLINE.split)
