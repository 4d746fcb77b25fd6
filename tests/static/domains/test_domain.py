"""What a domain answers: read once from each record, joined where paths meet, and forgotten where numbers are changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.static.domains.asking import asked
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.domains.padding import Padded

if TYPE_CHECKING:
    from torch_doctor.static.values import Making

HEAD = """
import tools
import torch
from torch.nn.utils.rnn import pad_sequence
x = torch.zeros(2, 3)
flag = bool(input())
"""
PADDED = "x = pad_sequence([torch.ones(2), torch.ones(3)])\n"


class Reading(Domain[int]):
    """Counts how often a record is read."""

    read_so_far = 0

    def unknown(self) -> int:
        return 0

    def read(self, made: Making) -> int:
        Reading.read_so_far += 1
        return 1 + sum(map(self.of, made.args))


def test_a_record_is_read_once_however_many_values_are_made_of_it() -> None:
    Reading.read_so_far = 0
    doubled = "".join("x = x + x\n" for _ in range(30))
    assert asked(Reading, HEAD + doubled, "x", "x") == [2**31 - 1] * 2
    assert Reading.read_so_far == 31


@pytest.mark.parametrize(
    "write",
    [
        "x.add_(1)",
        "x += 1",
        "x[0] = 1",
        "x[0].add_(1)",
        "x[0][1] = 1",
        "x.view(-1).mul_(2)",
        "torch.add(x, 1, out=x)",
        "y = x.t()\ny[0] = 1",
        "y = x\ny.add_(1)",
        "for y in [x]:\n    y.add_(1)",
        "if flag:\n    x.add_(1)",
        "if flag:\n    pass\nelse:\n    x.add_(1)",
        "torch.nn.init.normal_(x)",
        "x.data = torch.ones(2, 3)",
        "tools.change(x)",
    ],
)
@pytest.mark.parametrize("made", ["", PADDED])
def test_what_was_known_of_numbers_is_unknown_once_they_were_changed_in_place(made: str, write: str) -> None:
    domain: type[Domain[Any]] = Padded if made else Filled
    assert asked(domain, HEAD + made, "x") != [None]
    assert asked(domain, f"{HEAD}{made}{write}\n", "x") == [None]


@pytest.mark.parametrize("arm", ["if flag:\n    {}", "if not flag:\n    pass\nelse:\n    {}"])
def test_a_write_on_a_path_that_ends_tells_nothing_of_the_others(arm: str) -> None:
    ends = arm.format("x.add_(1); raise SystemExit")
    assert asked(Filled, f"{HEAD}{ends}\n", "x") == [0.0]


def test_a_write_that_comes_again_in_a_loop_is_no_reason_to_know_more() -> None:
    assert asked(Filled, HEAD + "for _ in range(3):\n    x.add_(1)\ny = x.t()\n", "y") == [None]


def test_rows_that_are_put_into_zeros_are_padded_until_something_else_is() -> None:
    filled = "for i, row in enumerate(rows):\n    x[i, : len(row)] = row\n"
    rows = f"{HEAD}rows = eval(input())\n{filled}"
    assert asked(Padded, rows, "x") != [None]
    assert asked(Padded, rows + "x[0, 0] = 5\n", "x") == [None]


def test_a_value_that_is_one_of_two_has_the_answer_that_both_have() -> None:
    source = HEAD + "if flag:\n    y = torch.zeros(3)\nelse:\n    y = {}\n"
    assert asked(Filled, source.format("torch.full((2,), 0.0)"), "y") == [0.0]
    assert asked(Filled, source.format("torch.ones(3)"), "y") == [None]


def test_nothing_is_known_of_what_was_made_in_too_many_steps() -> None:
    assert asked(Filled, HEAD + "x = x.t()\n" * 100, "x") == [0.0]
    assert asked(Filled, HEAD + "x = x.t()\n" * 300, "x") == [None]


def test_the_absolute_value_of_a_tensor_is_another_tensor() -> None:
    source = f"{HEAD}y = torch.full((3,), -1.0)\nz = abs(y)\n"
    assert asked(Filled, source, "y", "z") == [-1.0, None]


@pytest.mark.parametrize("view", ["torch.transpose(input=x, dim0=0, dim1=1)", "torch.reshape(input=x, shape=(6,))"])
def test_a_view_whose_tensor_is_given_by_name_has_its_numbers(view: str) -> None:
    assert asked(Filled, f"{HEAD}y = torch.nn.Parameter({view})\nz = {view}\n", "y", "z") == [None, 0.0]
