"""Notebooks as one text whose rows know their cells."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.sources.notebook import BrokenNotebookError, read_notebook
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from torch_doctor.sources.source import Problem, SourceFile

Notebook: TypeAlias = Callable[[list[str]], str]
PATH = Path("/project/train.ipynb")


def read(content: str | bytes) -> tuple[SourceFile, list[Problem]]:
    raw = content.encode() if isinstance(content, str) else content
    return read_notebook(PATH, "train.ipynb", raw)


def test_code_cells_are_joined_and_markdown_counts(notebook: Notebook) -> None:
    file, problems = read(notebook(["md:# Title", "a = 1\nb = 2", "c = 3"]))
    assert file.text == "a = 1\nb = 2\nc = 3"
    assert problems == []
    assert [file.place(row) for row in (1, 2, 3)] == [(2, 1), (2, 2), (3, 1)]


def test_a_site_goes_back_to_its_row(notebook: Notebook) -> None:
    file, _ = read(notebook(["a = 1\nb = 2", "", "c = 3"]))
    for row in range(1, len(file.lines) + 1):
        assert file.row_of(file.site(row, 1, row, 2)) == row
    assert file.site(4, 1, 4, 2) == Site("train.ipynb", 1, 1, 1, 2, cell=3)


def test_an_indented_cell_is_python_and_its_sites_keep_their_columns(notebook: Notebook) -> None:
    file, problems = read(notebook(["a = 1", "    @cache\n    def f():\n        return 1", "b = 2"]))
    assert problems == []
    assert file.lines == ["a = 1", "@cache", "def f():", "    return 1", "b = 2"]
    assert file.site(3, 1, 3, 9) == Site("train.ipynb", 2, 5, 2, 13, 2)
    assert file.site(5, 1, 5, 2) == Site("train.ipynb", 1, 1, 1, 2, 3)
    assert file.laid(file.site(3, 1, 3, 9)) == Site("train.ipynb", 3, 1, 3, 9)


def test_a_magic_without_its_sign_is_one_only_where_it_is_no_python(notebook: Notebook) -> None:
    file, problems = read(notebook(["pip install torch\nimport torch", "cat = 1\nls", "ls /content/"]))
    assert problems == []
    assert file.lines == ["pass", "import torch", "cat = 1", "ls", "pass"]


def test_what_is_neither_python_nor_a_magic_stays_a_problem(notebook: Notebook) -> None:
    _, problems = read(notebook(["pip install torch\nthis is all prose"]))
    assert [problem.site.row for problem in problems] == [2]


def test_a_broken_cell_is_blanked_and_the_others_stay(notebook: Notebook) -> None:
    file, problems = read(notebook(["a = 1", "def f(:\n    pass", "b = 2"]))
    assert file.text == "a = 1\n\n\nb = 2"
    assert [(problem.site.cell, problem.site.row, problem.wrong) for problem in problems] == [(2, 1, True)]
    assert file.shown[1] == "def f(:"
    assert file.cells is not None
    assert [cell.blanked for cell in file.cells] == [False, True, False]


def test_magics_leave_rows_and_columns(notebook: Notebook) -> None:
    cells = ["%matplotlib inline\nimport torch\n!ls", "%%bash\nls | wc", "for x in y:\n    %time f(x)"]
    file, problems = read(notebook(cells))
    assert problems == []
    assert file.text.split("\n") == ["", "import torch", "", "", "", "for x in y:", "    if 1: f(x)"]


def test_await_outside_a_function_is_a_notebooks_right(notebook: Notebook) -> None:
    _, problems = read(notebook(["x = await f()"]))
    assert problems == []


def test_a_notebook_in_another_language_is_empty(notebook: Notebook) -> None:
    content = json.loads(notebook(["x <- 1"]))
    content["metadata"]["kernelspec"] = {"name": "ir", "display_name": "R", "language": "R"}
    file, problems = read(json.dumps(content))
    assert file.text == ""
    assert problems == []


def test_an_old_notebook_is_brought_up_to_date() -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "hello"},
        {
            "cell_type": "code",
            "metadata": {},
            "language": "python",
            "outputs": [],
            "input": ["import torch\n", "x = 1"],
        },
    ]
    old = {
        "metadata": {"name": ""},
        "nbformat": 3,
        "nbformat_minor": 0,
        "worksheets": [{"cells": cells, "metadata": {}}],
    }
    file, problems = read(json.dumps(old))
    assert file.text == "import torch\nx = 1"
    assert file.place(2) == (2, 2)
    assert problems == []


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", "{}", '{"nbformat": 4, "cells": 3}', '{"nbformat": 4, "cells": [3]}', '{"nbformat": 9}'],
)
def test_what_is_no_notebook_says_so(content: str) -> None:
    with pytest.raises(BrokenNotebookError):
        read(content)


@pytest.mark.parametrize(
    ("content", "said", "row", "column"),
    [
        ('{"cells":\n ["é"]}'.encode("latin-1"), "not valid UTF-8: byte 0xe9 cannot be decoded", 2, 4),
        (b'{\n  "cells": [},\n}', "not JSON: expecting value", 2, 13),
        (b'{"cells": []} x', "not JSON: extra data", 1, 15),
        (b'\rcells": []}', "not JSON: expecting value", 2, 1),
        (b"[" * 100_000, "JSON nested too deeply", 1, 1),
        ('{"cells": []}'.encode("utf-16"), "encoded in UTF-16, which Python cannot read: save it as UTF-8", 1, 1),
    ],
    ids=["latin-1", "a bracket", "more than one", "a carriage return", "deep", "utf-16"],
)
def test_where_a_notebook_cannot_be_read_is_told(content: bytes, said: str, row: int, column: int) -> None:
    with pytest.raises(BrokenNotebookError) as error:
        read(content)
    assert (str(error.value), error.value.row, error.value.column) == (said, row, column)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cells", "nbformat", "metadata", "cell_type", "source", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(JSON)
def test_no_json_crashes(content: object) -> None:
    if isinstance(content, dict):
        content["nbformat"] = 4
    with contextlib.suppress(BrokenNotebookError):
        read(json.dumps(content))
