"""What holds where a test holds, and where it does not."""

from __future__ import annotations

import pytest

from torch_doctor.static.values.symbols import Symbol, conditions

A, B = ("flag", "a"), ("flag", "b")
BOTH, EITHER = ("and", A, ("not", B)), ("or", A, B)


@pytest.mark.parametrize(
    ("test", "yes", "no"),
    [
        (A, {(A, True)}, {(A, False)}),
        (("not", A), {(A, False)}, {(A, True)}),
        (BOTH, {(BOTH, True), (A, True), (B, False)}, {(BOTH, False)}),
        (EITHER, {(EITHER, True)}, {(EITHER, False), (A, False), (B, False)}),
        (("not", EITHER), {(EITHER, False), (A, False), (B, False)}, {(EITHER, True)}),
        (None, set(), set()),
    ],
)
def test_a_connective_tells_of_its_parts_where_it_decides_them(
    test: Symbol | None, yes: set[tuple[Symbol, bool]], no: set[tuple[Symbol, bool]]
) -> None:
    assert conditions(test) == (frozenset(yes), frozenset(no))
