"""What is said of Lightning's hooks, and, where it is installed, what it does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.static.libraries.lightning import (
    AFTER_EPOCH,
    AFTER_TRAINING,
    BEFORE_TRAINING,
    EVALUATION,
    LIGHTNING,
    UPDATE,
    VALIDATE,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOOKS = """
import json, sys, torch
import lightning.pytorch as pl
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seen, order = {}, []


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.kept = nn.Dropout().eval()
        self.net = nn.Linear(4, 2)


def watched(name):
    original = getattr(pl.LightningModule, name)

    def hook(self, *given, **named):
        order.append(name)
        seen.setdefault(name, []).append([self.training, self.kept.training, torch.is_grad_enabled()])
        if name == "training_step":
            return nn.functional.cross_entropy(self.net(given[0][0]), given[0][1])
        if name == "configure_optimizers":
            return torch.optim.SGD(self.parameters(), lr=0.1)
        if name in ("validation_step", "test_step", "predict_step"):
            return self.net(given[0][0])
        return original(self, *given, **named)

    return hook


for name in json.loads(sys.argv[1]):
    if hasattr(pl.LightningModule, name) and not name.endswith(("_dataloader", "_model_eval", "_model_train")):
        setattr(Net, name, watched(name))
rows = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,))), batch_size=8)
quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
limits = dict(max_epochs=1, limit_train_batches=1, limit_val_batches=1) if "once" in sys.argv else dict(max_epochs=2)
trainer, net = pl.Trainer(**limits, accelerator="cpu", num_sanity_val_steps=0, **quiet), Net()
trainer.fit(net, rows, rows)
print("ORDER", json.dumps(order))
if "once" not in sys.argv:
    trainer.test(net, rows, verbose=False)
    trainer.predict(net, rows)
print("SEEN", json.dumps(seen))
"""
BANK = """
import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Near(pl.LightningModule):
    def __init__(self, bank):
        super().__init__()
        self.bank, self.rows = bank, []
        self.old = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).requires_grad_(False){mode}
        self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))

    def training_step(self, batch, number):
        return nn.functional.cross_entropy(self.net(self.old(batch[0])), batch[1])

    def {hook}(self):
        self.rows = []
        for x, _ in self.bank:
            self.rows.append(self.net(x))

    def {step}(self, batch, number):
        self.log("near", (self.net(batch[0]) @ torch.cat(self.rows).t()).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.net.parameters(), lr=0.1)


rows = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
net = Near(DataLoader(rows, batch_size=16))
trainer = pl.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(net, DataLoader(rows, batch_size=16, shuffle=True), DataLoader(rows, batch_size=16))
"""
CODES = "TDR125,TDR401,TDR402,TDR502"


@pytest.mark.frameworks("lightning")
def test_each_hook_is_called_in_the_mode_that_the_table_says(write: Callable[..., Path]) -> None:
    script = write("hooks.py", HOOKS)
    names = json.dumps(sorted({*LIGHTNING.hooks, *LIGHTNING.training_hooks, *BEFORE_TRAINING}.union(*EVALUATION)))
    out = subprocess.run([sys.executable, script, names], capture_output=True, text=True, check=True).stdout
    seen = json.loads(next(line for line in out.splitlines() if line.startswith("SEEN"))[5:])
    evaluated = set[str]().union(*EVALUATION)
    assert {"validation_step", "on_validation_epoch_start", "test_step", "predict_step"} <= seen.keys() & evaluated
    for name, modes in seen.items():
        for training, kept, grad in modes:
            if name.endswith("_to_device"):
                continue  # it is called for both
            assert kept is False, name
            assert (training, grad) == ((False, False) if name in evaluated else (True, True)), name


@pytest.mark.frameworks("lightning")
def test_hooks_are_called_in_the_order_of_the_tables(write: Callable[..., Path]) -> None:
    told = [
        *("prepare_data", "setup", "configure_optimizers", "on_fit_start", "on_train_start"),
        *("on_train_epoch_start", "on_train_batch_start", "training_step", *UPDATE, "on_train_batch_end"),
        *(*VALIDATE.hooks, *AFTER_EPOCH, *AFTER_TRAINING),
    ]
    script = write("hooks.py", HOOKS)
    names = json.dumps(sorted({*told, *BEFORE_TRAINING}))
    out = subprocess.run([sys.executable, script, names, "once"], capture_output=True, text=True, check=True).stdout
    order = json.loads(next(line for line in out.splitlines() if line.startswith("ORDER"))[6:])
    seen = [name for name in order if name != "configure_model"]
    assert seen == [name for name in told if name in seen]
    assert {*UPDATE, "validation_step", "on_train_epoch_end", "on_train_end"} <= {*seen}


@pytest.mark.parametrize(
    ("hook", "step"),
    [
        ("on_validation_epoch_start", "validation_step"),
        ("on_validation_start", "validation_step"),
        ("on_test_epoch_start", "test_step"),
        ("on_predict_start", "predict_step"),
    ],
)
def test_what_runs_in_an_evaluation_hook_is_evaluated(run: Any, write: Any, hook: str, step: str) -> None:
    write("train.py", BANK.format(hook=hook, step=step, mode=".eval()"))
    assert run("scan", "train.py", "--isolated", "--select", CODES, "--output-format", "json").json == []


def test_a_part_whose_mode_nobody_set_is_still_reported(run: Any, write: Any) -> None:
    write("train.py", BANK.format(hook="on_validation_start", step="validation_step", mode=""))
    found = run("scan", "train.py", "--isolated", "--select", CODES, "--output-format", "json").json
    assert [each["code"] for each in found] == ["TDR125"]


def test_what_runs_in_a_hook_of_the_training_is_not_evaluated(run: Any, write: Any) -> None:
    write("train.py", BANK.format(hook="on_train_epoch_end", step="validation_step", mode=".eval()"))
    found = run("scan", "train.py", "--isolated", "--select", CODES, "--output-format", "json").json
    assert {each["code"] for each in found} >= {"TDR401", "TDR402"}


TUNED = """
import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Data(pl.LightningDataModule):
    def setup(self, stage=None):
        self.rows = TensorDataset(torch.randn(60, 4), torch.randint(0, 2, (60,)))

    def train_dataloader(self):
        return DataLoader(self.rows, batch_size=8, {training})

    def val_dataloader(self):
        return DataLoader(TensorDataset(torch.randn(20, 4), torch.randint(0, 2, (20,))), batch_size=8, {validation})


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))

    def training_step(self, batch, number):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, number):
        self.log("loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, 0.1, total_steps=self.trainer.estimated_stepping_batches
        )
        return {{"optimizer": optimizer, "lr_scheduler": {{"scheduler": scheduler{interval}}}}}


quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
pl.Trainer(max_epochs=3, accelerator="cpu", **quiet).fit(Net(), datamodule=Data())
"""
RIGHT = {"training": "shuffle=True", "validation": "drop_last=False", "interval": ', "interval": "step"'}
WRONG = [
    ({"interval": ""}, "TDR123"),
    ({"interval": ', "interval": "epoch"'}, "TDR123"),
    ({"validation": "drop_last=True"}, "TDR712"),
]


def test_what_a_trainer_is_given_right_is_not_reported(run: Any, write: Any) -> None:
    write("train.py", TUNED.format(**RIGHT))
    assert run("scan", "train.py", "--isolated", "--output-format", "json").json == []


@pytest.mark.parametrize(("wrong", "code"), WRONG)
def test_what_a_trainer_is_given_is_judged_as_in_a_loop(run: Any, write: Any, wrong: dict[str, str], code: str) -> None:
    write("train.py", TUNED.format(**RIGHT | wrong))
    found = run("scan", "train.py", "--isolated", "--output-format", "json").json
    assert [each["code"] for each in found] == [code]


@pytest.mark.frameworks("lightning")
@pytest.mark.parametrize(("wrong", "code"), WRONG)
def test_a_run_of_the_trainer_confirms_it(run: Any, write: Any, wrong: dict[str, str], code: str) -> None:
    write("train.py", TUNED.format(**RIGHT | wrong))
    found = run("scan", "train.py", "--isolated", "--probe", "--output-format", "json").json
    assert [(each["code"], each["verdict"]) for each in found] == [(code, "confirmed")]


@pytest.mark.frameworks("lightning")
def test_a_schedule_that_steps_once_in_an_epoch_is_none_of_its_last_batch(run: Any, write: Any) -> None:
    write("train.py", TUNED.format(**RIGHT | {"interval": ""}))
    told = run("scan", "train.py", "--isolated", "--probe").out
    assert "it steps once per epoch, an epoch has 8 batches" in told


COLLECTED = """
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 3)

    def training_step(self, batch, number):
        return {{"loss": nn.functional.cross_entropy(self.net(batch[0]), batch[1])}}

    def training_epoch_end(self, outputs):
        self.log("loss", torch.stack([output["loss"] for output in outputs]).mean())

    def validation_step(self, batch, number):
        return {{"correct": (self.net(batch[0]).argmax(1) == batch[1]).sum(), "size": len(batch[1])}}

    def validation_epoch_end(self, outputs):
        self.log("accuracy", sum(output["correct"] for output in outputs) / {by})

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


rows = TensorDataset(torch.randn(60, 8), torch.randint(0, 3, (60,)))
held_out = TensorDataset(torch.randn(60, 8), torch.randint(0, 3, (60,)))
pl.Trainer(max_epochs=3).fit(Net(), DataLoader(rows, batch_size=8, shuffle=True), DataLoader(held_out, batch_size=8))
"""


@pytest.mark.parametrize(
    ("by", "codes"), [("len(outputs)", ["TDR412"]), ("sum(output['size'] for output in outputs)", [])]
)
def test_what_steps_return_is_followed_to_the_end_of_their_epoch(
    run: Any, write: Any, by: str, codes: list[str]
) -> None:
    write("train.py", COLLECTED.format(by=by))
    found = run("scan", "train.py", "--isolated", "--output-format", "json").json
    assert [each["code"] for each in found] == codes
