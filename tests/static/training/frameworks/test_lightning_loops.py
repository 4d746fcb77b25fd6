"""Lightning's trainer gets its batches from the loaders of the script, in epochs that train and validate."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.said import said

SCRIPT = """
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rows = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))


class Data(L.LightningDataModule):
    def setup(self, stage):
        self.rows = rows

    def train_dataloader(self):
        return DataLoader(self.rows, batch_size=8, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.rows, batch_size=16)

    def test_dataloader(self):
        return DataLoader(self.rows, batch_size=32)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 3))

    def training_step(self, batch, number):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, number):
        self.log("loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def on_validation_epoch_end(self):
        print("validated")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
"""
TEST = """
    def test_step(self, batch, number):
        self.log("score", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())
"""
TAKEN = "take a batch from"


def in_turn(lines: list[str]) -> list[str]:
    """The lines, each once where it is repeated."""
    return [line for line, _ in groupby(lines)]


@pytest.mark.parametrize(
    ("call", "training", "validation"),
    [
        ("fit(Net(), datamodule=Data())", "`Data.train_dataloader()`", "`Data.val_dataloader()`"),
        ("fit(Net(), Data())", "`Data.train_dataloader()`", "`Data.val_dataloader()`"),
        ("fit(Net(), train, held_out)", "`train`", "`held_out`"),
        ("fit(Net(), train_dataloaders=train, val_dataloaders=held_out)", "`train`", "`held_out`"),
        ("fit(Net(), train, [held_out, held_out])", "`train`", "`[held_out, held_out]`"),
        ("fit(Net())", "`the training batches`", "`the validation batches`"),
    ],
)
def test_batches_come_from_where_the_trainer_gets_them(call: str, training: str, validation: str) -> None:
    source = f"""{SCRIPT}
train, held_out = DataLoader(rows, batch_size=8, shuffle=True), DataLoader(rows, batch_size=16)
L.Trainer(max_epochs=3).{call}
"""
    taken = said(source, TAKEN)
    assert set(taken) == {f"{TAKEN} {training}", f"{TAKEN} {validation}"}
    assert taken[0] == f"{TAKEN} {training}"


def test_each_epoch_trains_and_validates_without_autograd() -> None:
    lines = said(f"{SCRIPT}\nL.Trainer(max_epochs=3).fit(Net(), datamodule=Data())\n", "autograd")
    trains, validates = (next(line for line in lines if word in line) for word in ("autograd on", "autograd off"))
    assert "training mode" in trains
    assert "evaluation mode" in validates
    assert in_turn(lines) == [trains, validates, trains, validates]


def test_one_epoch_is_one_epoch() -> None:
    source = f"{SCRIPT}\nL.Trainer(max_epochs=1).fit(Net(), datamodule=Data())\n"
    names = ["`Data.train_dataloader()`", "`Data.val_dataloader()`"]
    assert in_turn(said(source, TAKEN)) == [f"{TAKEN} {name}" for name in names]


@pytest.mark.parametrize("given", ["datamodule=Data()", "dataloaders=DataLoader(rows, batch_size=32)"])
def test_a_test_takes_its_own_batches(given: str) -> None:
    source = f"{SCRIPT}{TEST}\nnet = Net()\ntrainer = L.Trainer()\ntrainer.test(net, {given})\n"
    name = (
        "`Data.test_dataloader()`"
        if given.startswith("data") and "module" in given
        else "`DataLoader(rows, batch_size=32)`"
    )
    assert said(source, TAKEN)[0] == f"{TAKEN} {name}"


def test_a_module_that_nobody_fits_is_trained_and_evaluated() -> None:
    names = [f"{TAKEN} `the {word} batches`" for word in ("training", "validation", "test")]
    assert list(dict.fromkeys(said(SCRIPT + TEST, TAKEN))) == names
