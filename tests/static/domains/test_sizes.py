"""The sizes of tensors: numbers, names of what nobody knows, and what operations make of them."""

from __future__ import annotations

import pytest

from tests.static.domains.asking import asked
from torch_doctor.static.domains.axes import Sizes
from torch_doctor.trace.amounts import Amount, amount, product


def sizes(code: str, *names: str) -> list[tuple[Amount | None, ...]]:
    """The sizes of these variables."""
    found = asked(Sizes, f"import torch\nfrom torch import nn\n{code}", *names)
    assert all(each is not None for each in found)
    return [each for each in found if each is not None]


def test_sizes_of_the_source_are_numbers() -> None:
    (found,) = sizes("x = nn.Linear(4, 6)(torch.zeros(2, 3, 4))\n", "x")
    assert found == (amount(2), amount(3), amount(6))


def test_the_rest_of_a_view_is_what_is_left() -> None:
    (found,) = sizes("x = torch.zeros(2, 3, 8).view(2, -1, 4)\n", "x")
    assert found == (amount(2), amount(6), amount(4))


@pytest.mark.parametrize("made", ["x.permute(0, 2, 1)", "x.transpose(1, 2)", "torch.relu(x).mT"])
def test_a_size_without_a_number_keeps_its_name(made: str) -> None:
    code = f"import sys\nx = torch.zeros(len(sys.argv), 4, int(sys.argv[1]))\ny = {made}\n"
    before, after = sizes(code, "x", "y")
    assert [after[0], after[2], after[1]] == [*before]
    assert before[0] != before[2]


def test_sizes_that_are_written_are_products_of_those_that_were_read() -> None:
    code = """
import sys
x = torch.zeros(2, 4, int(sys.argv[1]), int(sys.argv[2]))
b, c, h, w = x.shape
y = x.flatten(2)
z = x.view(b, c // 2, 2, h * w)
"""
    before, found = sizes(code, "x", "z")
    known = [size for size in before if size is not None]
    assert found == (amount(2), amount(2), amount(2), product(known[2:]))


def test_parts_of_a_tensor_are_as_long_as_their_share() -> None:
    found = sizes("x = torch.zeros(2, 6)\na, b = x.chunk(2, dim=1)\nc, d, e = x.split(2, dim=1)\n", "b", "d")
    assert found == [(amount(2), amount(3)), (amount(2), amount(2))]
