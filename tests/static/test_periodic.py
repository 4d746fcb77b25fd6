"""Tests that hold for every k-th batch."""

from __future__ import annotations

import pytest

from torch_doctor.static.periodic import counted_to, every, whole
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


@pytest.mark.parametrize(
    "symbol", [INDEX, NEXT, FROM_ONE, ("+", ("*", EPOCH, ("len", 1)), INDEX), ("//", NEXT, ("const", 2))]
)
def test_what_is_computed_of_counters_and_lengths_is_a_whole_number(symbol: tuple[object, ...]) -> None:
    assert whole(symbol)


@pytest.mark.parametrize("symbol", [K, ("/", NEXT, ("const", 2)), ("+", NEXT, ("const", 0.5)), ("*", NEXT, K)])
def test_quotients_and_what_is_not_known_may_have_fractions(symbol: tuple[object, ...]) -> None:
    assert not whole(symbol)


PENDING = ("?", 11)


@pytest.mark.parametrize(
    ("symbol", "arm", "said"),
    [
        (("==", PENDING, ("const", 4)), True, Every(4, 0, holds=True)),
        (("==", ("const", 4), PENDING), True, Every(4, 0, holds=True)),
        ((">=", PENDING, K), True, Every(0, 0, holds=True)),
        ((">", PENDING, ("const", 3)), True, Every(4, 0, holds=True)),
        (("<", PENDING, ("const", 4)), False, Every(4, 0, holds=False)),
        (("<", ("const", 3), PENDING), True, Every(4, 0, holds=True)),
    ],
)
def test_a_counter_that_its_test_sets_back_is_read(symbol: tuple[object, ...], arm: bool, said: Every) -> None:
    assert counted_to(symbol, PENDING, 0, arm) == said


@pytest.mark.parametrize(
    ("symbol", "arm"),
    [
        (("==", PENDING, ("const", 4)), False),
        (("<", PENDING, ("const", 4)), True),
        (("==", PENDING, ("const", 0)), True),
        (("==", PENDING, EPOCH), True),
        (("or", ("==", PENDING, ("const", 4)), ("flag", "last")), True),
    ],
)
def test_other_tests_of_a_counter_are_not(symbol: tuple[object, ...], arm: bool) -> None:
    assert counted_to(symbol, PENDING, 0, arm) is None
