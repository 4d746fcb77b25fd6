"""Scripts as people write them with frameworks, one bug each: `<<wrong||right>>`, `#!` at the reported line."""

from __future__ import annotations

import re
from typing import Any

import pytest

ROWS = """
import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassF1Score

EPOCHS, BATCH_SIZE = 5, 16
x = torch.randn(480, 12)
y = torch.randint(0, 3, (480,))
train_set, val_set = TensorDataset(x[:320], y[:320]), TensorDataset(x[320:], y[320:])
train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True)
val_loader = DataLoader(val_set, batch_size=BATCH_SIZE)
quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
"""
NET = """

class Net(pl.LightningModule):
    def __init__(self, width=16, lr=1e-3, total_steps=1{parameters}):
        super().__init__()
        {saved}
        self.net = nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, 3))
        {init}

    def training_step(self, batch, batch_idx):
        inputs, labels = batch
        loss = F.cross_entropy(self.net(inputs), labels)
        {step}

    def validation_step(self, batch, batch_idx):
        inputs, labels = batch
        self.log("val_loss", F.cross_entropy(self.net(inputs), labels))
"""
SCHEDULED = """
    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.OneCycleLR({arguments})
        return [optimizer], [<<scheduler||{{"scheduler": scheduler, "interval": "step"}}>>]


total_steps = len(train_set) // BATCH_SIZE * EPOCHS
{call}
"""
FIT = "pl.Trainer(max_epochs=EPOCHS, enable_checkpointing=False, **quiet).fit(net, train_loader, val_loader)"
ARGUMENTS = "optimizer, max_lr=0.1, total_steps=self.hparams{of}"


def _module(
    saved: str = "self.save_hyperparameters()", init: str = "pass", step: str = "return loss", more: str = ""
) -> str:
    return ROWS + NET.format(saved=saved, init=init, step=step, parameters=more)


def _scheduled(of: str, call: str) -> str:
    arguments = ARGUMENTS.format(of=of)
    written = SCHEDULED.format(arguments=arguments, call=f"{call}\n{FIT}")
    return re.sub(r"(scheduler = .*)", r"\1  #!", written)


BY_HAND = """optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()"""
NEVER = """
    def on_train_epoch_end(self):
        <<pass||self.lr_schedulers().step()>>

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams["lr"], momentum=0.9)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)  #!
        return {"optimizer": optimizer, "lr_scheduler": scheduler}


net = Net()
"""
SCORED = """
    def on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0):
        self.score.update(self.net(batch[0]), batch[1])

    def on_validation_epoch_end(self):
        self.log("val_f1", self.score.compute())
        self.score.reset()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


kept = ModelCheckpoint(dirpath="kept", monitor="val_f1", save_top_k=1<<||, mode="max">>)  #!
pl.Trainer(max_epochs=EPOCHS, callbacks=[kept], **quiet).fit(Net(), train_loader, val_loader)
"""
BEST = """,
    load_best_model_at_end=True,
    metric_for_best_model="accuracy",
    greater_is_better=<<False||True>>,  #!
"""
FIRST = "scores = scores[0] if isinstance(scores, tuple) else scores"
TOKENS = """
import numpy as np
from datasets import load_dataset
from transformers import AutoModelFor{task}, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
rows = load_dataset("conll2003").map(lambda batch: tokenizer(batch["tokens"], is_split_into_words=True), batched=True)
model = AutoModelFor{task}.from_pretrained("bert-base-cased", num_labels=9)


def compute_metrics(eval_pred):
    scores, labels = eval_pred
    {first}
    chosen = np.argmax(scores, axis={axis})
    kept = labels != -100
    return {{"accuracy": float((chosen == labels)[kept].mean())}}  {mark}


arguments = TrainingArguments("out", eval_strategy="epoch"{best})
trainer = Trainer(
    model, arguments, train_dataset=rows["train"], eval_dataset=rows["validation"], compute_metrics=compute_metrics
)
trainer.train()
"""
SCRIPTS = {
    "schedule of settings": ("TDR123", _module() + _scheduled(".total_steps", "net = Net(total_steps=total_steps)")),
    "schedule of an item": ("TDR123", _module() + _scheduled('["total_steps"]', "net = Net(16, 1e-3, total_steps)")),
    "settings by name": (
        "TDR123",
        _module('self.save_hyperparameters("lr", "total_steps")')
        + _scheduled(".total_steps", "net = Net(total_steps=total_steps)"),
    ),
    "settings but one": (
        "TDR123",
        _module('self.save_hyperparameters(ignore=["width"], logger=False)')
        + _scheduled(".total_steps", "net = Net(total_steps=total_steps)"),
    ),
    "settings in a dict": (
        "TDR123",
        _module(more=", **more") + _scheduled(".steps", "net = Net(16, steps=total_steps)"),
    ),
    "settings of a dict": (
        "TDR123",
        _module("self.save_hyperparameters({'lr': lr, 'steps': total_steps})")
        + _scheduled(".steps", "net = Net(total_steps=total_steps)"),
    ),
    "scheduler that nobody steps": (
        "TDR132",
        _module(init="self.automatic_optimization = False", step=BY_HAND) + NEVER + FIT,
    ),
    "classes of tokens": (
        "TDR409",
        TOKENS.format(task="TokenClassification", axis="<<1||-1>>", first="", best="", mark="#!"),
    ),
    "score that is kept the wrong way": (
        "TDR413",
        TOKENS.format(task="SequenceClassification", axis="1", first="", best=BEST, mark=""),
    ),
    "classes of rows": (
        "",
        TOKENS.format(task="SequenceClassification", axis="<<1||-1>>", first=FIRST, best="", mark=""),
    ),
    "metric that is kept the wrong way": ("TDR413", _module(init="self.score = MulticlassF1Score(3)") + SCORED),
}


def _written(name: str, side: int) -> tuple[str, list[tuple[str, int]]]:
    code, text = SCRIPTS[name]
    text = re.sub(r"<<(.*?)\|\|(.*?)>>", lambda found: found[side + 1], text)
    marked = [number for number, line in enumerate(text.splitlines(), 1) if "#!" in line]
    return text.replace("  #!", ""), [(code, number) for number in marked]


def _scan(run: Any, write: Any, text: str) -> Any:
    write("train.py", text)
    return run("scan", "train.py", "--isolated", "--output-format", "json").json


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_bug_is_reported(run: Any, write: Any, name: str) -> None:
    text, marks = _written(name, 0)
    assert [(each["code"], each["location"]["row"]) for each in _scan(run, write, text)] == marks


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_right_is_not_reported(run: Any, write: Any, name: str) -> None:
    text, _ = _written(name, 1)
    assert _scan(run, write, text) == []
