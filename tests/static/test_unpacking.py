"""Values that are taken apart for several targets."""

from __future__ import annotations

import pytest

from tests.said import said


@pytest.mark.parametrize("value", ["torch.randn(3, 4)", "unseen()", "torch.randn(3, 4).shape", "[1, 2, 3]"])
def test_a_star_gets_a_list(value: str) -> None:
    switched = said(
        f"""
        import torch
        from torch import nn
        from unseen import unseen
        model = nn.Dropout()
        *others, last = {value}
        if isinstance(others, list):
            model.eval()
        if isinstance(others, torch.Tensor):
            model.train()
        """,
        "switch `model` to",
    )
    assert switched == ["switch `model` to evaluation mode"]
