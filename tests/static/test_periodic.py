"""Numbers of batches, and what is computed of them."""

from __future__ import annotations

import pytest

from torch_doctor.static.periodic import whole
from torch_doctor.static.values import COUNTER, ORDINAL

INDEX = (COUNTER, False, ORDINAL, "turn", 7, 0, 2)
FROM_ONE = (ORDINAL, 1, "turn", 7, 0, 2)
EPOCH = (COUNTER, False, "turn", 3, 1)
NEXT = ("+", INDEX, ("const", 1))
K = ("flag", "accumulate")


@pytest.mark.parametrize(
    "symbol", [INDEX, NEXT, FROM_ONE, ("+", ("*", EPOCH, ("len", 1)), INDEX), ("//", NEXT, ("const", 2))]
)
def test_what_is_computed_of_counters_and_lengths_is_a_whole_number(symbol: tuple[object, ...]) -> None:
    assert whole(symbol)


@pytest.mark.parametrize("symbol", [K, ("/", NEXT, ("const", 2)), ("+", NEXT, ("const", 0.5)), ("*", NEXT, K)])
def test_quotients_and_what_is_not_known_may_have_fractions(symbol: tuple[object, ...]) -> None:
    assert not whole(symbol)
