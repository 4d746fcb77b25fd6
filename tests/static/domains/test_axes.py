"""The axes of tensors: where the elements of a tensor come from, after any chain of permutes and views, as torch moves them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.static.domains.asking import asked
from torch_doctor.static.domains.axes import Axis, Order, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (2, 3, 4, 1)
HEAD = f"""
import torch
x = torch.zeros{SIZES}
"""


def order(*steps: str, name: str = "x") -> tuple[Axis, ...] | None:
    """The axes of a tensor of 2 x 3 x 4 x 1 after these calls."""
    (axes,) = asked(Order, HEAD + "".join(f"{name} = {name}{step}\n" for step in steps), name)
    return axes


def places(axes: tuple[Axis, ...] | None) -> list[tuple[int, ...]]:
    """The axes of `x` that each axis runs over."""
    assert axes is not None
    assert all(axis.whole for axis in axes)
    return [tuple(part.place for part in axis.parts) for axis in axes]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((), [(0,), (1,), (2,), ()]),
        ((".permute(2, 0, 1, 3)",), [(2,), (0,), (1,), ()]),
        ((".permute((2, 0, 1, -1))",), [(2,), (0,), (1,), ()]),
        ((".transpose(1, -2)",), [(0,), (2,), (1,), ()]),
        ((".squeeze(3)", ".mT"), [(0,), (2,), (1,)]),
        ((".view(6, 4)",), [(0, 1), (2,)]),
        ((".view(2, -1)",), [(0,), (1, 2)]),
        ((".transpose(0, 1).reshape(6, 4)",), [(1, 0), (2,)]),
        ((".flatten(1)", ".unsqueeze(0)"), [(), (0,), (1, 2)]),
        ((".view(6, 4)", ".view(2, 3, 4)"), [(0,), (1,), (2,)]),
        ((".contiguous()", ".clone()", ".cuda()"), [(0,), (1,), (2,), ()]),
    ],
)
def test_the_axes_are_where_permute_transpose_and_view_put_them(
    steps: tuple[str, ...], found: list[tuple[int, ...]]
) -> None:
    assert places(order(*steps)) == found


def test_a_view_that_goes_across_axes_leaves_none_of_them_whole() -> None:
    axes = order(".permute(1, 0, 2, 3)", ".view(2, 3, 4)")
    assert axes is not None
    assert [axis.whole for axis in axes] == [False, False, True]
    assert {part.place for part in axes[0].parts} == {0, 1}


def test_an_axis_that_is_split_gives_two_pieces_of_it() -> None:
    axes = order(".view(2, 3, 2, 2)")
    assert axes is not None
    outer, inner = (axis.parts[0] for axis in axes[2:])
    assert outer.source is not None
    assert outer.source == inner.source
    assert (outer.place, inner.place) == (0, 1)


@pytest.mark.parametrize("step", [".permute(0, 1)", ".permute(0, 0, 1, 2)", ".transpose(0, 7)", ".permute(*places())"])
def test_nothing_is_known_after_a_permutation_that_cannot_be_followed(step: str) -> None:
    assert order(step) is None


def test_a_value_that_is_one_of_two_has_the_axes_that_both_have() -> None:
    source = HEAD + "flag = bool(input())\n{}"
    same, other = "y = x.permute(1, 0, 2, 3)", "y = x.transpose(0, 1)"
    (axes,) = asked(Order, source.format(f"if flag:\n    {same}\nelse:\n    {other}\n"), "y")
    assert places(axes) == [(1,), (0,), (2,), ()]
    assert asked(Order, source.format(f"if flag:\n    {same}\nelse:\n    y = x.flip(0)\n"), "y") == [None]


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, ...]:
    """Chains of views that torch allows."""
    tensor, steps = torch.zeros(SIZES), list[str]()
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            step = f".permute({tuple(draw(st.permutations(range(tensor.dim()))))})"
        else:
            step = f".reshape({draw(st.sampled_from(list(factored(tensor.numel()))))})"
        tensor = eval(f"tensor{step}")  # noqa: S307 - written above
        steps.append(step)
    return tuple(steps)


def factored(number: int, longest: int = 4) -> Iterator[tuple[int, ...]]:
    """The ways to write a number as a product of up to four."""
    for first in range(1, number + 1):
        if number % first == 0:
            if first == number:
                yield (first,)
            if longest > 1:
                yield from ((first, *rest) for rest in factored(number // first, longest - 1))


@settings(max_examples=60, deadline=None)
@given(chains())
def test_along_a_whole_axis_lie_the_elements_that_its_parts_say(steps: tuple[str, ...]) -> None:
    axes = order(*steps)
    assert axes is not None
    tensor = torch.arange(math.prod(SIZES)).view(SIZES)
    for step in steps:
        tensor = eval(f"tensor{step}")  # noqa: S307 - written above
    known = {each for axis in axes for part in axis.parts for each in lineage(part)}
    for dim, axis in enumerate(axes):
        strides = [stride(part, known) for part in axis.parts]
        if axis.whole and None not in strides:
            line = tensor.movedim(dim, 0).reshape(tensor.shape[dim], -1)
            runs = [torch.arange(many(part)) * (by or 0) for part, by in zip(axis.parts, strides, strict=True)]
            expected = sum(torch.meshgrid(*runs, indexing="ij")) if runs else torch.zeros(1, dtype=torch.long)
            assert isinstance(expected, torch.Tensor)
            assert torch.equal(line - line[:1], expected.reshape(-1, 1).expand_as(line)), (dim, axis)


def lineage(part: Part) -> Iterator[Part]:
    """A part, and those that it is a piece of."""
    yield part
    if isinstance(part.source, Part):
        yield from lineage(part.source)


def stride(part: Part, known: set[Part]) -> int | None:
    """How far apart two elements are in memory that are neighbours along a part; None where its other pieces are not known."""
    if not isinstance(part.source, Part):
        return math.prod(SIZES[part.place + 1 :])
    pieces = [each for each in known if each.source == part.source]
    outer = stride(part.source, known)
    if outer is None or math.prod(many(each) for each in pieces) != part.source.size:
        return None
    return outer * math.prod(many(each) for each in pieces if each.place > part.place)


def many(part: Part) -> int:
    """How many elements a part has."""
    assert isinstance(part.size, int)
    return part.size
