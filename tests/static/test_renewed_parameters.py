from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from torch import nn


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.codes = nn.Linear(4, 4), nn.Parameter(torch.randn(8, 4))

    def renew(self, rows):
        {renew}

    def forward(self, x):
        rows = self.body(x)
        loss = (rows - self.codes[0]{cut}).pow(2).mean()
        self.renew(rows.detach().mean(0))
        return loss


model = Codes()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(16, 4)).backward()
    optimizer.step()
"""
AVERAGES = [
    "self.codes = nn.Parameter(0.9 * self.codes.detach() + 0.1 * rows)",
    "self.codes = nn.Parameter(torch.lerp(self.codes.data, rows.expand(8, 4), 0.1))",
    "setattr(self, 'codes', nn.Parameter(self.codes.detach() * 0.9 + rows * 0.1))",
]


@pytest.mark.parametrize("renew", AVERAGES)
def test_an_average_of_weights_is_not_built_anew(renew: str) -> None:
    assert not said(SCRIPT.format(renew=renew, cut=".detach()"), "in the forward of")


def test_a_parameter_that_is_drawn_in_a_forward_is() -> None:
    drawn = "self.codes = nn.Parameter(torch.randn(8, 4))"
    assert said(SCRIPT.format(renew=drawn, cut=".detach()"), "in the forward of")
