"""What a test of something's class tells."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
    import torch
    from torch import nn
    loss = nn.functional.mse_loss(nn.Linear(4, 1)(torch.randn(8, 4)), torch.randn(8, 1))
    if isinstance(loss, {classes}):
        loss = loss[0]
    loss.backward()
"""


@pytest.mark.parametrize("classes", ["tuple", "(list, tuple)", "dict"])
def test_a_tensor_is_no_instance_of_a_built_in_class(classes: str) -> None:
    assert said(SCRIPT.format(classes=classes), "loss[0]") == []


@pytest.mark.parametrize("classes", ["object", "(tuple, torch.Tensor)"])
def test_a_tensor_is_an_object_and_a_tensor(classes: str) -> None:
    assert said(SCRIPT.format(classes=classes), "loss[0]")
