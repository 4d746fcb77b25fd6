"""Statements are marked whose lines somebody asks for, and no other; each tells once that the script comes there."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.agent.hooks import name_of
from torch_doctor.probe.agent.rewriting.places import ARM, HOOK, StatementMarks

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = '''"""A script."""
from __future__ import annotations
def score(x):
    """Scores."""
    if x > 2:
        return x
    elif x < 0:
        x = -x
    return (
        x +
        1
    )
for x in [1, 1]:
    score(x)
class Scores:
    best = 1
'''


class Channel:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, **fields: Any) -> None:
        """Takes a line."""
        self.lines.append(fields)


@pytest.fixture(autouse=True)
def hook() -> Iterator[None]:
    """What marked code calls is gone afterwards."""
    yield
    for name in (HOOK, ARM):
        delattr(builtins, name_of(name))


def passed(*rows: int) -> tuple[list[int], list[int]]:
    """The rows of the script that get a mark, and those that it comes to."""
    channel = Channel()
    tree = ast.parse(SCRIPT)
    StatementMarks({"train.py": rows}, channel).mark(tree, "train.py")  # type: ignore[arg-type]
    names: dict[str, Any] = {"__name__": "scores"}
    exec(compile(ast.fix_missing_locations(tree), "train.py", "exec"), names)  # noqa: S102 - it is written above
    assert names["score"].__doc__ == "Scores."
    marked = [line["rows"] for line in channel.lines if line["t"] == "marked"]
    return marked[0], [row for line in channel.lines if line["t"] == "passed" for row in line["rows"]]


@pytest.mark.parametrize(
    ("rows", "came"),
    [
        ((14,), [14]),
        ((13, 14), [13, 14]),
        ((3,), [3]),
        ((6, 8), []),
        ((5,), [5]),
        ((7,), [7]),
        ((10,), [10]),
        ((15,), [15]),
    ],
    ids=["in a loop", "a loop", "a function", "arms", "a test", "a second test", "within a statement", "a class"],
)
def test_a_run_tells_of_each_line_once_whether_it_comes_there(rows: tuple[int, ...], came: list[int]) -> None:
    assert passed(*rows) == (list(rows), came)


def test_what_has_to_come_first_is_not_marked() -> None:
    assert passed(1, 2) == ([], [])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("[1, 1]", ["marked", "passed", "forked"]),
        ("[1, -1]", ["marked", "passed", "forked", "whole"]),
        ("[1]", ["marked", "passed"]),
    ],
)
def test_a_line_is_whole_when_both_arms_of_what_is_conditional_in_it_were_taken(values: str, told: list[str]) -> None:
    channel = Channel()
    tree = ast.parse(f"for x in {values}:\n    y = [x if x > 0 else -x][0]\nassert y == 1")
    StatementMarks({"train.py": [2]}, channel).mark(tree, "train.py")  # type: ignore[arg-type]
    exec(compile(ast.fix_missing_locations(tree), "train.py", "exec"), {})  # noqa: S102 - it is written above
    assert [line["t"] for line in channel.lines] == told
    assert all(line["rows"] == [2] for line in channel.lines)
