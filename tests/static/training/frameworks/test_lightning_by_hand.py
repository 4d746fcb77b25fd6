"""A flag decides whether a LightningModule clears, goes backward and steps by hand, with one optimizer more."""

from __future__ import annotations

import pytest

from tests.said import SCRIPT
from torch_doctor.rule import Level, all_rules
from torch_doctor.scan import Options, scan

SOURCE = """
import lightning as L
import torch
from torch import nn


class Net(L.LightningModule):
    def __init__(self, adversarial: bool = False):
        super().__init__()
        self.automatic_optimization = not adversarial
        self.adversarial = adversarial
        self.body = nn.Linear(8, 8)
        if adversarial:
            self.judge = nn.Linear(8, 1)

    def training_step(self, batch, number):
        return self.by_hand(batch) if self.adversarial else self.plain(batch)

    def plain(self, x):
        loss = nn.functional.mse_loss(self.body(x), x)
        self.log("loss", loss)
        return loss

    def by_hand(self, x):
        first, second = self.optimizers()
        made = self.body(x)
        second.zero_grad()
        judged = self.judge(made.detach()).relu().mean() + (1 - self.judge(x)).relu().mean()
        self.manual_backward(judged)
        second.step()
        first.zero_grad()
        loss = nn.functional.mse_loss(made, x) - self.judge(made).mean()
        self.manual_backward(loss)
        first.step()
        return loss

    def configure_optimizers(self):
        first = torch.optim.AdamW(self.body.parameters(), lr=1e-3)
        if self.adversarial:
            return [first, torch.optim.AdamW(self.judge.parameters(), lr=1e-3)], []
        else:
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(first, T_max=10)
            return {"optimizer": first, "lr_scheduler": {"scheduler": schedule, "interval": "epoch"}}
"""


BY_HAND = "        self.automatic_optimization = not adversarial\n"
IN_A_BRANCH = "        if adversarial:\n            self.automatic_optimization = False\n"


def found(source: str) -> list[str]:
    """The codes of what is found, but for advice."""
    rules = tuple(rule for rule in all_rules() if rule.level is not Level.ADVICE)
    options = Options(paths=(SCRIPT,), rules=rules, overlay={SCRIPT: source.encode()}, names={SCRIPT: SCRIPT.name})
    return [finding.code for finding in scan(options).findings]


@pytest.mark.parametrize("chosen", [BY_HAND, IN_A_BRANCH])
def test_nothing_is_found_in_either_way(chosen: str) -> None:
    assert found(SOURCE.replace(BY_HAND, chosen)) == []


@pytest.mark.parametrize("chosen", [BY_HAND, IN_A_BRANCH])
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("        second.step()\n", "TDR104"),
        ("        first.zero_grad()\n", "TDR101"),
    ],
)
def test_what_lacks_by_hand_is_found_although_it_may_be_automatic(chosen: str, line: str, code: str) -> None:
    assert line in SOURCE
    assert found(SOURCE.replace(BY_HAND, chosen).replace(line, "")) == [code]
