"""Tests that hold for every k-th batch."""

from __future__ import annotations

import pytest

from torch_doctor.static.periodic import every
from torch_doctor.static.values import COUNTER, ORDINAL
from torch_doctor.trace import Every

INDEX = (COUNTER, False, ORDINAL, "turn", 7, 0, 2)
FROM_ONE = (ORDINAL, 1, "turn", 7, 0, 2)
EPOCH = (COUNTER, False, "turn", 3, 1)
NEXT = ("+", INDEX, ("const", 1))
K = ("flag", "accumulate")


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        (("==", ("%", NEXT, ("const", 4)), ("const", 0)), Every(4, 0, holds=True)),
        (("==", ("const", 0), ("%", NEXT, ("const", 4))), Every(4, 0, holds=True)),
        (("%", NEXT, ("const", 4)), Every(4, 0, holds=False)),
        (("==", ("%", FROM_ONE, ("const", 4)), ("const", 0)), Every(4, 0, holds=True)),
        (("==", ("%", INDEX, ("const", 4)), ("const", 3)), Every(4, 0, holds=True)),
        (("==", ("%", INDEX, ("const", 4)), ("const", 0)), Every(4, 1, holds=True)),
        (("==", ("%", NEXT, K), ("const", 0)), Every(0, 0, holds=True)),
    ],
)
def test_a_remainder_of_the_batch_number_is_read(symbol: tuple[object, ...], said: Every) -> None:
    assert every(symbol) == said


@pytest.mark.parametrize(
    "symbol",
    [
        ("==", ("%", EPOCH, ("const", 4)), ("const", 0)),
        ("==", ("%", ("+", ("*", EPOCH, ("len", 1)), INDEX), ("const", 4)), ("const", 0)),
        ("or", ("==", ("%", NEXT, ("const", 4)), ("const", 0)), ("==", NEXT, ("len", 1))),
        ("==", ("%", NEXT, INDEX), ("const", 0)),
        ("<", ("%", NEXT, ("const", 4)), ("const", 2)),
        ("%", NEXT, ("const", 0)),
    ],
)
def test_other_counters_and_tests_that_say_more_are_none(symbol: tuple[object, ...]) -> None:
    assert every(symbol) is None
