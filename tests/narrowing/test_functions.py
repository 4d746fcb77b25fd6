"""In which function a row lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.narrowing.functions import Functions
from torch_doctor.sources.source import SourceFile

TEXT = """\
x = 1
class Net:
    size = 1

    @property
    def one(self):
        def inner():
            return 1
        return inner

if x:
    async def two():
        pass
match x:
    case 1:
        def three(): pass
try:
    pass
except ValueError:
    def four(): pass
"""


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (1, ""),
        (3, "Net"),
        (4, "Net"),
        (5, "Net.one"),
        (8, "Net.one.inner"),
        (9, "Net.one"),
        (10, ""),
        (13, "two"),
        (16, "three"),
        (20, "four"),
        (99, ""),
    ],
)
def test_a_row_lies_in_the_innermost_function_around_it(row: int, name: str) -> None:
    assert Functions(SourceFile(Path("a.py"), "a.py", TEXT)).around(row) == name


def test_what_cannot_be_parsed_has_no_functions() -> None:
    assert Functions(SourceFile(Path("a.py"), "a.py", "def f(:\n    pass\n")).around(2) == ""
