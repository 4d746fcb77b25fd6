"""Gradients that are zero since the backward pass, and that the script changes in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.trace.events import ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable

CLIPPED = """
import torch
from torch import nn

model = nn.Linear(4, 3)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.full((8,), -100))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""
CLEARED = CLIPPED.replace("-100", "1").replace("optimizer.zero_grad()", "for p in model.parameters(): p.grad.zero_()")


def test_clipping_clears_no_gradients_that_are_zero(seen: Callable[..., list[Any]]) -> None:
    assert {event.name for event in seen(CLIPPED, ZeroGrad)} == {"optimizer"}


def test_gradients_that_are_set_to_zero_are_cleared(seen: Callable[..., list[Any]]) -> None:
    assert {event.site.row for event in seen(CLEARED, ZeroGrad)} == {12}
