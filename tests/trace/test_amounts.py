"""Sizes as products, and reshapes that hand elements to other dimensions, compared with what torch does."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.trace.amounts import Amount, amount, crossed, kept_order, product

PRIMES = (2, 3, 5, 7, 11)


def amounts(*sizes: int | str) -> list[Amount]:
    """Numbers and names."""
    return [amount(size) for size in sizes]


def quotient(name: str, by: int) -> Amount:
    """A size that is divided by a number."""
    return amount(name).times(amount(by), -1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("b", 24, 5, 5), ("b", 25, 24)),
        (("b", 12, 32), ("b", 4, 12, 8)),
        ((2, "b", 24), ("b", 48)),
        (("b", "t", "c"), ("t", "b", "c")),
        (("b", 1, 9, 5), ("b", 5, 9)),
    ],
)
def test_sizes_of_dimensions_in_another_order_are_crossed(
    before: tuple[int | str, ...], after: tuple[int | str, ...]
) -> None:
    assert crossed(amounts(*before), amounts(*after)) is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("b", 3, 32, 32), ("b", 3072)),
        (("b", "h", "w", 27), ("b", "h", "w", 9, 3)),
        (("b", 10, 8), ("b", 5, 16)),
        (("b", 8, 8), ("b", 8, 8)),
        ((2, 10, 8), (2, 5, 16)),
        (("b", "t", "c"), ("b", "t", "d")),
        (("b", 6, 1, 4), ("b", 1, 6, 4)),
    ],
)
def test_neighbours_that_are_split_or_merged_are_not(
    before: tuple[int | str, ...], after: tuple[int | str, ...]
) -> None:
    assert crossed(amounts(*before), amounts(*after)) is None


def test_a_part_of_a_size_that_has_a_name_is_split_off_as_it_is_written() -> None:
    windows = [amount("b"), quotient("h", 2), amount(2), quotient("w", 2), amount(2), amount("c")]
    assert crossed(amounts("b", "h", "w", "c"), windows) is None


def test_a_quotient_times_its_divisor_is_the_size() -> None:
    assert product([quotient("h", 4), amount(2), amount(2)]) == amount("h")
    assert not quotient("h", 4).whole


@given(st.permutations(PRIMES), st.integers(2, len(PRIMES)))
def test_a_view_with_permuted_sizes_is_crossed_exactly_where_torch_finds_other_elements(
    order: list[int], many: int
) -> None:
    sizes = [size for size in PRIMES if size in order[:many]]
    wanted = [size for size in order if size in sizes]
    numbers = torch.arange(math.prod(sizes)).view(sizes)
    permuted = numbers.permute([sizes.index(size) for size in wanted])
    differs = not torch.equal(permuted, numbers.view(wanted))
    assert (crossed(amounts(*sizes), amounts(*wanted)) is not None) == differs


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_merged_neighbours_keep_their_order(sizes: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(sizes)))
    merged = [*sizes[:at], math.prod(sizes[at:])]
    assert kept_order(amounts(*sizes), amounts(*merged)) is not None
    assert crossed(amounts(*sizes), amounts(*merged)) is None
