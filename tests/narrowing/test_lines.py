"""Which lines of a text have changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.narrowing.lines import Lines

ROWS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


def test_equal_texts_have_equal_rows() -> None:
    lines = Lines.of(["a", "b"], ["a", "b"])
    assert (lines.rows, lines.differ) == ([1, 2], False)


def test_a_row_that_was_added_or_changed_was_none() -> None:
    lines = Lines.of(["x", "a", "B", "c", "d"], ["a", "b", "c", "gone", "d"])
    assert (lines.rows, lines.differ) == ([None, 1, None, 3, 5], True)
    assert [lines.have_changed(range(1, 2)), lines.have_changed(range(4, 6))] == [True, False]


def test_a_row_out_of_the_text_has_changed() -> None:
    assert Lines.of(["a"], ["a"]).have_changed([2])
    assert Lines.of(["a"], ["a"]).before(0) is None


@given(ROWS, ROWS)
def test_rows_that_stayed_have_their_text_and_their_order(now: list[str], before: list[str]) -> None:
    stayed = [(row, number) for number, row in enumerate(Lines.of(now, before).rows) if row is not None]
    assert all(before[row - 1] == now[number] for row, number in stayed)
    assert [row for row, _ in stayed] == sorted({row for row, _ in stayed})


def test_long_texts_of_few_words_take_no_time() -> None:
    now, before = ["", "x = 1"] * 20_000, ["x = 1", "", ""] * 14_000
    assert Lines.of(now, before).differ
