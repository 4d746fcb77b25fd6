"""Comments that silence a finding: where they go."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.rule import Finding, Level
from torch_doctor.sources.source import SourceFile
from torch_doctor.sources.suppressing import Insertion, on_file, on_line
from torch_doctor.trace import Site

PATH = "train.py"


def source(text: str) -> SourceFile:
    return SourceFile(Path(PATH), PATH, text)


def finding(row: int) -> Finding:
    return Finding("TDR101", "missing-zero-grad", Level.ERROR, "not cleared", Site(PATH, row, 1, row, 2))


@pytest.mark.parametrize(
    ("text", "row", "changed"),
    [
        ("loss.backward()\n", 1, "loss.backward()  # noqa: TDR101\n"),
        ("loss.backward()  # slow\n", 1, "loss.backward()  # slow  # noqa: TDR101\n"),
        ("loss.backward()  # noqa: E501\n", 1, "loss.backward()  # noqa: E501, TDR101\n"),
        ('log("# noqa: E501")\n', 1, 'log("# noqa: E501")  # noqa: TDR101\n'),
        ("f(\n    a,\n    b,\n)\n", 2, "f(\n    a,  # noqa: TDR101\n    b,\n)\n"),
        ("a = b + \\\n    c\n", 1, "a = b + \\\n    c  # noqa: TDR101\n"),
        ('a = """\nb\n"""\n', 1, 'a = """\nb\n"""  # noqa: TDR101\n'),
    ],
    ids=["plain", "comment", "noqa", "string", "brackets", "backslash", "long string"],
)
def test_the_comment_goes_where_it_is_read(text: str, row: int, changed: str) -> None:
    insertion = on_line(finding(row), source(text))
    assert insertion is not None
    lines = text.split("\n")
    line = lines[insertion.row - 1]
    lines[insertion.row - 1] = line[: insertion.column - 1] + insertion.content + line[insertion.column - 1 :]
    assert "\n".join(lines) == changed


def test_no_comment_is_put_into_what_is_no_python() -> None:
    assert on_line(finding(1), source("for x in\n")) is None


def test_the_comment_for_a_file_goes_below_what_has_to_be_its_first_row() -> None:
    content = "# torch-doctor: ignore-file[missing-zero-grad]\n"
    assert on_file(finding(1), source("import torch\n")) == Insertion(1, 1, content)
    assert on_file(finding(1), source("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nimport torch\n")).row == 3
