"""The helper that gives the text of `torch-doctor trace`."""

from __future__ import annotations

from tests.said import said

SCRIPT = """
    import torch
    from torch import nn
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
"""


def test_a_script_is_told_line_by_line() -> None:
    assert said(SCRIPT)[0] == "train.py"
    assert said(SCRIPT)[-1] == " 6:1  step `optimizer`: updates `model`"


def test_the_events_that_contain_a_text_are_told_without_their_places() -> None:
    assert said(SCRIPT, "step") == ["step `optimizer`: updates `model`"]
