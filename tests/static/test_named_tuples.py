"""Named tuples: their items are what they were made of."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
    import torch
    from collections import namedtuple

    Pair = {made}
    model = torch.nn.Linear(4, 2)
    for step in range(9):
        scores = model(torch.rand(3, 4))
        pair = Pair({given})
        pair.right.mean().backward()
"""


@pytest.mark.parametrize("made", ['namedtuple("Pair", "left right")', 'namedtuple("Pair", ["left", "right"])'])
@pytest.mark.parametrize("given", ["1, scores", "1, right=scores", "left=1, right=scores", "*(1, scores)"])
def test_the_items_of_a_named_tuple_are_known(made: str, given: str) -> None:
    assert "gradients for `model`" in said(SCRIPT.format(made=made, given=given), "backward")[0]


@pytest.mark.parametrize("made", ['namedtuple("Pair", names)', 'namedtuple("Pair", [*names])'])
def test_where_the_names_are_not_known_the_loss_is_still_one(made: str) -> None:
    assert said(SCRIPT.format(made=made, given="1, scores"), "backward")
