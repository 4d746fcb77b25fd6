"""Plain containers of layers become torch's own, where these take what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

NET = """\
from torch import nn

NAMES = ("mood", "age")


class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
{}
    def forward(self, x):
        return {}


Net({{"mood": 3, "age": 5}})
"""


def net(*rows: str, forward: str = "[layer(x) for layer in self.heads]") -> str:
    return NET.format("".join(f"        {row}\n" for row in rows), forward)


OVER_VALUES = "[head(x) for head in self.heads.values()]"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["self.heads = {name: nn.Linear(2, n) for name, n in sizes.items()}"],
         ["self.heads = nn.ModuleDict({name: nn.Linear(2, n) for name, n in sizes.items()})"]),
        (["self.heads = {}", "for name in NAMES:", "    self.heads[name] = nn.Linear(2, 1)"],
         ["self.heads = nn.ModuleDict()", "for name in NAMES:", "    self.heads[name] = nn.Linear(2, 1)"]),
        (["heads = {}", "for name in NAMES:", "    heads[name] = nn.Linear(2, 1)", "self.heads = heads"],
         ["heads = {}", "for name in NAMES:", "    heads[name] = nn.Linear(2, 1)",
          "self.heads = nn.ModuleDict(heads)"]),
    ],
    ids=["comprehension", "filled", "local"],
)  # fmt: skip
def test_a_dict_whose_keys_are_known_becomes_a_module_dict(mended: Mended, before: list[str], after: list[str]) -> None:
    assert mended(net(*before, forward=OVER_VALUES), "TDR301") == net(*after, forward=OVER_VALUES)


@pytest.mark.parametrize(
    "rows",
    [
        ["self.heads = {number: nn.Linear(2, 1) for number in range(3)}"],
        ['self.heads = {"forward": nn.Linear(2, 1), "backward": nn.Linear(2, 1)}'],
        ["self.heads = {'a.b': nn.Linear(2, 1)}"],
        ["self.heads = {name: [nn.Linear(2, 1)] for name in NAMES}"],
        ["self.heads = {name: nn.Linear(2, 1) for name in NAMES}", 'self.first = self.heads.get("mood").weight.shape'],
    ],
    ids=["numbers", "a-method", "a-dot", "lists", "get"],
)
def test_a_dict_that_a_module_dict_cannot_stand_for_stays(mended: Mended, rows: list[str]) -> None:
    assert mended(net(*rows, forward=OVER_VALUES), "TDR301") == net(*rows, forward=OVER_VALUES)


def test_a_local_list_is_registered_where_it_is_kept(mended: Mended) -> None:
    filled = ["heads = []", "for _ in range(3):", "    heads.append(nn.Linear(2, 2))"]
    after = net(*filled, "self.heads = nn.ModuleList(heads)")
    assert mended(net(*filled, "self.heads = heads"), "TDR301") == after


@pytest.mark.parametrize(
    "rows",
    [
        ["heads = [nn.Linear(2, 2)]", "self.heads = heads", "heads.append(nn.Linear(2, 2))"],
        ["heads = [nn.Linear(2, 2)]", "heads = heads + [nn.Linear(2, 2)]", "self.heads = heads"],
        ["row = [nn.Linear(2, 2)]", "heads = []", "heads.append(row)", "self.heads = heads"],
    ],
    ids=["filled-afterwards", "bound-twice", "lists"],
)
def test_a_local_list_that_goes_on_or_is_no_flat_one_stays(mended: Mended, rows: list[str]) -> None:
    assert mended(net(*rows), "TDR301") == net(*rows)
