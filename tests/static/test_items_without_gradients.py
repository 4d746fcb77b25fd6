from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 4)
codes = nn.Parameter(torch.randn(8, 4))
hidden = model(torch.randn(16, 4))
with {mode}:
    taken = {taken}
F.mse_loss(model(torch.randn(16, 4)), taken)
"""


@pytest.mark.parametrize("taken", ["codes[3]", "codes[torch.randint(0, 8, (16,))]", "hidden[0]", "hidden[:, 1]"])
def test_an_item_that_is_taken_under_no_grad_has_no_graph(taken: str) -> None:
    for mode, graph in [("torch.no_grad()", "without a graph)"), ("torch.enable_grad()", "with its graph)")]:
        [loss] = said(SCRIPT.format(mode=mode, taken=taken), "loss `F.mse_loss`")
        assert loss.endswith(graph)
