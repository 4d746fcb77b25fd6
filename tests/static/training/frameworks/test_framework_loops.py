"""What the trainers of frameworks do with the optimizers that a hook returns."""

from __future__ import annotations

import pytest

from tests.said import said

CHOSEN = """
        if self.hparams.name == "Adam":
            optimizer = torch.optim.Adam(self.parameters())
        else:
            optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
"""


@pytest.mark.parametrize("returned", ["optimizer", "[optimizer]", "{'optimizer': optimizer}", "([optimizer], [])"])
def test_lightning_steps_whichever_optimizer_was_chosen(returned: str) -> None:
    source = f"""
import sys

import torch
from lightning import LightningModule, Trainer


class Net(LightningModule):
    def __init__(self, name):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(3, 2)

    def configure_optimizers(self):{CHOSEN}        return {returned}

    def training_step(self, batch, number):
        inputs, targets = batch
        return torch.nn.functional.cross_entropy(self.layer(inputs), targets)


Trainer(max_epochs=1).fit(Net(sys.argv[1]), loader)
"""
    assert len(said(source, "step `optimizer`")) == 4  # two optimizers, in two passes


def test_lightning_goes_backward_from_a_loss_that_cannot_be_followed() -> None:
    source = """
import importlib

from lightning import LightningModule, Trainer


def built(name):
    if name is None:
        return None
    return getattr(importlib.import_module("losses"), name)()


class Net(LightningModule):
    def __init__(self, model, criterion):
        super().__init__()
        self.model = model
        self.criterion = built(criterion)

    def forward(self, **keywords):
        return self.model(keywords["batch"]["input"])

    def loss(self, **keywords):
        return self.criterion(keywords["batch"]["output"], keywords["batch"]["target"])

    def training_step(self, batch, number):
        batch["output"] = self(batch=batch)
        return self.loss(batch=batch).mean()


Trainer(max_epochs=1).fit(Net(model, name), loader)
"""
    assert len(said(source, "(through lightning)")) == 2


@pytest.mark.parametrize(
    ("method", "mode", "told"), [("freeze", "evaluation", "freeze"), ("unfreeze", "training", "require")]
)
def test_a_lightning_module_switches_its_parameters_and_its_mode(method: str, mode: str, told: str) -> None:
    source = f"""
import torch
from lightning import LightningModule


class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.1))


net = Net()
net.requires_grad_({method == "unfreeze"})
net.{method}()
"""
    assert len(said(source, told)) == 2
    assert said(source, "switch `net`") == [f"switch `net` to {mode} mode"]
