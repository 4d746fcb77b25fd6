"""How the script's own evaluation scores predictions that are made from the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

RUNG = "metric"
EVALUATION = """
    correct = 0
    with torch.no_grad():
        for images, labels in val_loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    print("accuracy", {figure})
"""
TAIL = TRAINING[TRAINING.index("    with torch.no_grad()") :]


def evaluated(figure: str) -> str:
    return broken(TAIL, EVALUATION.format(figure=figure))


def test_an_accuracy_that_perfect_predictions_complete_passes(climb: Climb) -> None:
    rung = climb(evaluated("correct / len(val_loader.dataset)"), RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "passed", rung.reason
    assert values(rung, "perfect predictions") == [1.0]
    assert [plot.kind for plot in rung.plots] == ["bars"]
    assert rung.plots[0].names[0] == "model"


@pytest.mark.parametrize("divisor", ["len(val_loader)", "len(labels)"])
def test_a_figure_that_cannot_be_right_fails(climb: Climb, divisor: str) -> None:
    rung = climb(evaluated(f"correct / {divisor}"), RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "failed", rung.reason
    assert "perfect predictions score" in rung.reason
    assert [finding.code for finding in rung.findings] == ["TDR412"]


def test_a_script_that_shows_no_figure_is_skipped(climb: Climb) -> None:
    assert climb(TRAINING, RUNG, verdicts=True, codes=("TDR412",)).status == "skipped"
    assert climb(TRAINING, RUNG).status == "skipped"


LIGHTNING = """
import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.hits = nn.Linear(4, 3), []

    def training_step(self, batch, number):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, number):
        scores = self.net(batch[0])
        self.log("loss", nn.functional.cross_entropy(scores, batch[1]))
        hits = (scores.argmax(1) == batch[1]).float()
        {logged}

    def on_validation_epoch_end(self):
        {epoch}
        self.hits.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def rows(count):
    x = torch.randn(count, 4)
    return DataLoader(TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()), batch_size=16)


quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
pl.Trainer(max_epochs=2, accelerator="cpu", **quiet).fit(Net(), rows(64), rows(40))
"""
LOGS = {
    "in a step": {"logged": 'self.log("share", hits.mean())', "epoch": "pass"},
    "in a dict": {"logged": 'self.log_dict({"share": hits.mean()}, on_step=True, on_epoch=True)', "epoch": "pass"},
    "behind the batches": {"logged": "self.hits += hits.tolist()", "epoch": 'self.log("share", sum(self.hits) / 40)'},
}


@pytest.mark.frameworks("lightning")
@pytest.mark.parametrize("name", LOGS)
def test_a_metric_that_lightning_logs_is_read(climb: Climb, name: str) -> None:
    rung = climb(LIGHTNING.format(**LOGS[name]), RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "passed", rung.reason
    assert "`share" in rung.reason
    assert "logged at" in rung.reason


@pytest.mark.frameworks("lightning")
def test_what_lightning_does_not_log_is_not_read(climb: Climb) -> None:
    script = LIGHTNING.format(logged="pass", epoch="pass").replace("self.log(", "print(")
    rung = climb(script, RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "skipped", rung.reason
    assert "what the trainer computes of them is not read" in rung.reason


TRANSFORMERS = """
import functools

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Rows(Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 5, 4)
        self.y = (self.x[..., 0] > 0).long() + (self.x[..., 1] > 0).long()
        self.y[:, 4:] = {last}

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return dict(x=self.x[i], labels=self.y[i])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)

    def forward(self, x, labels=None):
        scores = self.net(x)
        return dict(loss=nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten()), logits=scores)


class Metrics:
    def __init__(self, best=1):
        self.best = best

    def __call__(self, prediction):
        return self.share(prediction, self.best)

    def share(self, prediction, best):
        scores, labels = prediction
        kept = labels != -100
        return dict(share=(scores{argmax} == labels)[kept].mean() * best)


arguments = TrainingArguments(
    "out", num_train_epochs=1, report_to="none", use_cpu=True, eval_strategy="epoch", save_strategy="no", {batches}
)
Trainer(Net(), arguments, train_dataset=Rows(64), eval_dataset=Rows(40), compute_metrics={metrics}, **{more}).train()
"""
SCORED = {
    "batches": "per_device_eval_batch_size=16",
    "last": 0,
    "metrics": "Metrics()",
    "argmax": ".argmax(-1)",
    "more": "{}",
}


@pytest.mark.frameworks("transformers")
@pytest.mark.parametrize(
    "changed",
    [{}, {"last": -100}, {"metrics": "functools.partial(Metrics().share, best=100)"}],
    ids=["an object", "labels that are left out", "a part of a method"],
)
def test_what_scores_predictions_for_a_trainer_is_read(climb: Climb, changed: dict[str, object]) -> None:
    rung = climb(TRANSFORMERS.format(**SCORED | changed), RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "passed", rung.reason
    assert "`share` returned at" in rung.reason


@pytest.mark.frameworks("transformers")
def test_chosen_classes_are_no_scores(climb: Climb) -> None:
    chosen = "dict(preprocess_logits_for_metrics=lambda scores, labels: scores.argmax(-1))"
    script = TRANSFORMERS.format(**SCORED | {"argmax": "", "more": chosen})
    rung = climb(script, RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "skipped", rung.reason
    assert "no scores" in rung.reason
