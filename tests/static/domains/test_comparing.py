"""Which dimension of weights comes from which dimension of a softmax, and whether scores compare pairs."""

from __future__ import annotations

import pytest

from torch_doctor.static.domains.axes import comparing
from torch_doctor.static.domains.axes.origins import At, before
from torch_doctor.static.values import Const, Making, Tensor, Value
from torch_doctor.static.values.shapes import Meta
from torch_doctor.trace.amounts import Amount, amount

SHAPES = {"x": (2, 3, 5), "maps": (2, 6, 4, 7)}


def given(name: str) -> Tensor:
    return Tensor(meta=Meta("float32", SHAPES[name]))


def sizes(value: Value) -> tuple[Amount | None, ...] | None:
    from torch_doctor.static.measuring import measured  # noqa: PLC0415 - as domains ask it

    shape = measured(value).shape
    return None if shape is None else tuple(None if size is None else amount(size) for size in shape)


def made(name: str, tensor: str, *args: int) -> Making:
    return Making(name, (given(tensor), *map(Const, args)))


@pytest.mark.parametrize(
    ("operation", "place", "source"),
    [
        (made("transpose", "x", 1, 2), -1, -2),
        (made("transpose", "x", 0, 1), -1, -1),
        (made("permute", "x", 2, 0, 1), -1, -2),
        (made("unsqueeze", "x", 1), -1, -1),
        (made("unsqueeze", "x", 1), -4, -3),
        (made("unsqueeze", "x", -1), -2, -1),
        (made("view", "x", 6, 5), -1, -1),
        (made("view", "maps", 2, 6, 28), -2, -3),
        (made("flatten", "maps", 2), -2, -3),
    ],
)
def test_a_dimension_is_found_again_in_what_a_tensor_was_made_of(operation: Making, place: int, source: int) -> None:
    shape = sizes(Tensor(meta=operation))
    assert shape is not None
    found = before(operation, At(Tensor(meta=operation), place, len(shape)), sizes)
    assert found is not None
    assert (found.place, found.exact) == (source, True)


@pytest.mark.parametrize(("operation", "place"), [(made("unsqueeze", "x", 1), -3), (made("view", "x", 2, 15), -1)])
def test_what_is_new_or_merged_is_no_dimension_of_before(operation: Making, place: int) -> None:
    shape = sizes(Tensor(meta=operation))
    assert shape is not None
    assert before(operation, At(Tensor(meta=operation), place, len(shape)), sizes) is None


@pytest.mark.parametrize(
    ("equation", "summed", "own"),
    [
        ("bhqd,bhkd->bhqk", (-1, -1), ({-2}, {-1})),
        ("bqd, bkd -> bkq", (-1, -1), ({-1}, {-2})),
        ("...qd,...dk->...qk", (-1, -2), ({-2}, {-1})),
    ],
)
def test_an_equation_says_what_is_summed_and_what_each_factor_brings(
    equation: str, summed: tuple[int, int], own: tuple[set[int], set[int]]
) -> None:
    found = comparing.factors(Making("einsum", (Const(equation), given("x"), given("x"))))
    assert found is not None
    assert found.summed == summed
    assert tuple(map(set, found.own)) == own
