"""The lines that give a line its values are found in the source."""

from __future__ import annotations

import pytest

from torch_doctor.probe import fed_by

HELPER = "def value(loss):\n    if plain:\n        return 1\n    return loss\n"


@pytest.mark.parametrize(
    ("text", "row", "rows"),
    [
        ("kept = 1\nif late:\n    kept = loss\ntotal += kept", 4, [1, 3]),
        (f"{HELPER}total += value(loss)", 5, [3, 4]),
        ("def train(loss):\n    if late:\n        loss = loss.item()\n    total.append(loss)\nloss = 1", 4, [3]),
        ("total = 0\nfor loss in losses:\n    total += loss", 3, []),
        ("kept = 0\nwhile True:\n    if late:\n        kept = loss\n    total += kept", 5, [4]),
        ("def train(loss):\n    def inner():\n        loss = 2\n    return loss", 4, []),
        ("if (", 1, []),
        ("x = 1", 9, []),
    ],
)
def test_assignments_and_what_is_called_feed_a_line(text: str, row: int, rows: list[int]) -> None:
    assert fed_by(text, row) == rows
