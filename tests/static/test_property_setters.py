"""Assigning to a property runs its setter, and reading it its getter."""

from __future__ import annotations

import textwrap

import pytest

from tests.said import SCRIPT
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

NET = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.drop = nn.Dropout(0.5)
            self._scoring = False

        @property
        def scoring(self):
            return self._scoring

        @scoring.setter
        def scoring(self, on):
            self._scoring = on
            {}

        def forward(self, x):
            return self.drop(self.layer(x))


    rows = DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 4)), batch_size=4, shuffle=True)
    held = DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 4)), batch_size=4)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        net.scoring = False
        for x, y in rows:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
        net.scoring = True
        with torch.no_grad():
            for x, y in held:
                print(nn.functional.mse_loss(net(x), y).item())
"""


@pytest.mark.parametrize(
    ("setter", "codes"),
    [("self.train(not on)", []), ("self.drop.p = 0.4", ["TDR401"]), ("self.eval() if on else None", ["TDR403"])],
    ids=["both ways", "another setting", "there and not back"],
)
def test_what_a_setter_does_is_done(setter: str, codes: list[str]) -> None:
    """The mode of the model is what the setter made it."""
    written = textwrap.dedent(NET.format(setter)).lstrip().encode()
    rules = tuple(rule for rule in all_rules() if rule.code in ("TDR401", "TDR403"))
    report = scan(Options(paths=(SCRIPT,), rules=rules, overlay={SCRIPT: written}, names={SCRIPT: SCRIPT.name}))
    assert not report.errors
    assert [finding.code for finding in report.findings] == codes
