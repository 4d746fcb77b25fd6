"""Where a tensor comes from is one thing, and whoever asks for it gets the same answer."""

from __future__ import annotations

import textwrap

from tests.said import said

MODEL = """
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(8, 4), torch.randn(8, 4)), batch_size=2)
"""


def test_what_was_moved_to_the_cpu_still_requires_gradients() -> None:
    script = """
    model = nn.Linear(4, 1)
    loss = model(torch.randn(2, 4)).sum().cpu()
    if loss.requires_grad:
        loss.backward()
    """
    assert said(MODEL + textwrap.dedent(script), "backward")


def test_what_was_computed_of_numbers_alone_requires_none() -> None:
    script = """
    total = torch.zeros(3).sum()
    if total.requires_grad:
        total.backward()
    """
    assert not said(MODEL + textwrap.dedent(script), "backward")


def test_what_a_forward_makes_is_not_where_its_module_is() -> None:
    script = """
    class Prior(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            self.layer(x)
            return torch.zeros(2, 4)

    model = Prior().cuda()
    for x, y in loader:
        F.mse_loss(model(x.cuda()), y)
    """
    assert not said(MODEL + textwrap.dedent(script), "on the CPU and others")
    assert said(MODEL + textwrap.dedent(script.replace("torch.zeros(2, 4)", "self.layer(x)")), "on the CPU and others")


def test_a_layer_without_parameters_keeps_what_is_known_of_its_input() -> None:
    script = """
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.scale = nn.ReLU()(torch.ones(4))

        def forward(self, x):
            return self.layer(x) * self.scale

    Scaled()(torch.randn(2, 4))
    """
    assert said(MODEL + textwrap.dedent(script), "`self.scale`") == said(
        MODEL + textwrap.dedent(script.replace("nn.ReLU()(torch.ones(4))", "torch.ones(4)")), "`self.scale`"
    )


def test_a_row_is_where_its_tensor_is_by_number_and_in_a_loop() -> None:
    by_number = """
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.table = torch.ones(3, 4)

        def forward(self, x):
            x = self.layer(x)
            row = self.table[0]
            x = x + row
            return x

    Shifted()(torch.randn(2, 4))
    """
    in_a_loop = by_number.replace("row = self.table[0]", "for row in self.table:").replace(
        "    x = x + row", "        x = x + row"
    )
    found = said(MODEL + textwrap.dedent(by_number), "`self.table`")
    assert found
    assert said(MODEL + textwrap.dedent(in_a_loop), "`self.table`") == found
