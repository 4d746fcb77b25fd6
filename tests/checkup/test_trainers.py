"""Whether the step of a trainer that owns the loop is repeated, whatever it counts, and the trainer then goes on as before."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import values
from torch_doctor.checkup.outcome import RUNGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.checkup.conftest import Climb, Examine

PACKAGE = "site-packages/lightning"
LOOP = """
class Progress:
    def __init__(self):
        self.ready = 0


class Epoch:
    def __init__(self, module, loader):
        self.module, self.loader = module, loader
        self.optimizer = module.configure_optimizers()
        self.progress, self.logged = Progress(), {}

    @property
    def done(self):
        return self.progress.ready >= len(self.loader)

    def run(self):
        batches = iter(self.loader)
        while not self.done:
            batch = next(batches)
            self.progress.ready += 1
            number = self.progress.ready

            def closure():
                loss = self.module.training_step(batch, number)
                self.optimizer.zero_grad()
                loss.backward()
                self.logged["loss"] = self.logged.get("loss", 0.0) + loss.item()
                return loss

            self.optimizer.step(closure)
"""
SCRIPT = """
import sys

sys.path.insert(0, "site-packages")
import torch
from lightning.pytorch.loops.training_epoch_loop import Epoch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 10)
y = (x[:, 0] > 0).long()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
        self.losses = []

    def training_step(self, batch, number):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


module = Classifier()
epoch = Epoch(module, DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
epoch.run()
print("RESULT", epoch.progress.ready, epoch.logged, module.losses, sum(p.sum().item() for p in module.parameters()))
"""


@pytest.fixture
def trainer(write: Callable[..., Path]) -> None:
    """A package that owns the loop, counts its batches, and ends when it has had them all."""
    for name in ("__init__", "pytorch/__init__", "pytorch/loops/__init__"):
        write(f"{PACKAGE}/{name}.py", "")
    write(f"{PACKAGE}/pytorch/loops/training_epoch_loop.py", LOOP)


@pytest.mark.usefixtures("trainer")
def test_a_trainer_repeats_its_step_and_goes_on_where_it_was(examine: Examine, write: Callable[..., Path]) -> None:
    path = write("bare.py", SCRIPT)
    bare = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True, cwd=path.parent).stdout
    examined = examine(SCRIPT, *RUNGS)
    statuses = {rung.name: rung.status for rung in examined.checkup.rungs}
    assert statuses["overfit-one-batch"] == statuses["small-subset"] == statuses["repeatability"] == "passed"
    assert "failed" not in statuses.values()
    assert [line for line in examined.climb.output.splitlines() if line.startswith("RESULT")] == bare.splitlines()


@pytest.mark.usefixtures("trainer")
def test_what_a_closure_does_is_seen_and_an_update_that_is_to_change_nothing_changes_nothing(examine: Examine) -> None:
    baseline, throughput = examine(SCRIPT, "baseline", "throughput").checkup.rungs
    assert baseline.status == "passed", baseline.reason
    spent = {fact.label: float(fact.value or 0) for fact in throughput.evidence if fact.group == "parts of the step"}
    assert min(spent[part] for part in ("forward", "backward", "optimizer")) > 0


@pytest.mark.usefixtures("trainer")
def test_a_class_of_the_script_may_derive_from_the_trainer(examine: Examine, write: Callable[..., Path]) -> None:
    own = "class Own(Epoch):\n    pass\n\n\nmodule = Classifier()\nepoch = Own("
    script = SCRIPT.replace("module = Classifier()\nepoch = Epoch(", own)
    path = write("bare.py", script)
    bare = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True, cwd=path.parent).stdout
    examined = examine(script, *RUNGS)
    statuses = {rung.name: rung.status for rung in examined.checkup.rungs}
    assert statuses["overfit-one-batch"] == statuses["small-subset"] == statuses["repeatability"] == "passed"
    assert [line for line in examined.climb.output.splitlines() if line.startswith("RESULT")] == bare.splitlines()


RETAINING = """
class Own(Epoch):
    def __init__(self, *given):
        super().__init__(*given)
        self.outputs = []

    def run(self):
        training_step = self.module.training_step
        self.module.training_step = lambda *given: self.retained(training_step(*given))
        super().run()

    def retained(self, loss):
        self.outputs.append(loss)
        return loss


module = Classifier()
epoch = Own("""


@pytest.mark.usefixtures("trainer")
def test_what_the_class_of_the_script_retains_is_not_taken_for_the_trainer_s(climb: Climb) -> None:
    rung = climb(SCRIPT.replace("module = Classifier()\nepoch = Epoch(", RETAINING), "small-subset")
    assert rung.status == "failed", rung.reason
    assert "still alive" in rung.reason


LIGHTNING = """
import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3))

    def training_step(self, batch, number):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


lightning.seed_everything(0)
x = torch.randn(64, 16)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False)
module = Classifier()
trainer.fit(module, DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
print("RESULT", trainer.global_step, trainer.callback_metrics, sum(p.sum().item() for p in module.parameters()))
"""
TRANSFORMERS = """
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Texts(Dataset):
    def __init__(self):
        self.tokens = torch.randint(5, 100, (64, 12), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, row):
        return {"input_ids": self.tokens[row], "labels": (self.tokens[row][0] > 50).long()}


torch.manual_seed(0)
config = BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
arguments = TrainingArguments(
    output_dir="out", num_train_epochs=1, per_device_train_batch_size=16, learning_rate=1e-2, use_cpu=True,
    report_to=[], save_strategy="no", gradient_accumulation_steps=2,
)
trainer = Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=Texts())
trainer.train()
print("RESULT", trainer.state.global_step, sum(p.sum().item() for p in trainer.model.parameters()))
"""
COMPUTED = """
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **others):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels)
        return (loss, outputs) if return_outputs else loss

"""
STEPPED = """
class Own(Trainer):
    def __init__(self, **given):
        super().__init__(**given)
        self.steps = 0

    def create_optimizer(self, *_):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        return self.optimizer

    def training_step(self, *given, **named):
        self.steps += 1
        return super().training_step(*given, **named)

"""
SEQUENCES = """
import torch
from torch.utils.data import Dataset
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration


class Reversed(Dataset):
    def __init__(self):
        self.tokens = torch.randint(5, 20, (64, 6), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, row):
        return {"input_ids": self.tokens[row], "labels": self.tokens[row].flip(0)}


torch.manual_seed(0)
config = T5Config(
    vocab_size=20, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2, dropout_rate=0.0, decoder_start_token_id=0
)
arguments = Seq2SeqTrainingArguments(
    output_dir="out", num_train_epochs=1, per_device_train_batch_size=16, learning_rate=1e-2, use_cpu=True,
    report_to=[], save_strategy="no", gradient_accumulation_steps=2, predict_with_generate=True,
)
trainer = Seq2SeqTrainer(model=T5ForConditionalGeneration(config), args=arguments, train_dataset=Reversed())
trainer.train()
print("RESULT", trainer.state.global_step, sum(p.sum().item() for p in trainer.model.parameters()))
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
x = torch.randn(48, 16)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 12)
loader = DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for epoch in range(2):
    for inputs, labels in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
print("RESULT", sum(p.sum().item() for p in model.parameters()))
"""


def _derived(own: str) -> str:
    """The script of transformers, with the trainer that a class of the script derives."""
    script = TRANSFORMERS.replace("torch.manual_seed(0)\n", f"{own}\ntorch.manual_seed(0)\n")
    return script.replace("trainer = Trainer(", "trainer = Own(")


TRAINERS = {
    "transformers": TRANSFORMERS,
    "derived": _derived("class Own(Trainer):\n    pass\n"),
    "compute-loss": _derived(COMPUTED),
    "training-step": _derived(STEPPED),
    "sequences": SEQUENCES,
}


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(LIGHTNING, id="lightning", marks=pytest.mark.frameworks("lightning", "accelerate")),
        *(
            pytest.param(script, id=name, marks=pytest.mark.frameworks("transformers", "accelerate"))
            for name, script in TRAINERS.items()
        ),
        pytest.param(ACCELERATE, id="accelerate", marks=pytest.mark.frameworks("accelerate")),
    ],
)
def test_the_real_trainers_repeat_their_step(examine: Examine, write: Callable[..., Path], script: str) -> None:
    path = write("bare.py", script)
    bare = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True, cwd=path.parent).stdout
    climbed = [each for each in RUNGS if each != "metric"]  # which the probe run answers, not the climb
    examined = examine(script, *climbed, seconds=240)
    skipped = {rung.name: rung.reason for rung in examined.checkup.rungs if rung.status == "skipped"}
    assert not skipped
    assert not [rung.reason for rung in examined.checkup.rungs if rung.status == "failed"]
    told = [line for line in examined.climb.output.splitlines() if line.startswith("RESULT")]
    assert told == [line for line in bare.splitlines() if line.startswith("RESULT")]


@pytest.mark.frameworks("transformers", "accelerate")
def test_what_a_trainer_evaluates_on_and_how_long_it_trains_is_asked_of_it(examine: Examine) -> None:
    script = TRANSFORMERS.replace("train_dataset=Texts()", "train_dataset=Texts(), eval_dataset={'seen': Texts()}")
    rungs = examine(script, "inspect", "learning-rate", seconds=240).checkup.rungs
    told = {rung.name: rung.reason for rung in rungs}
    assert "64 samples of eval_dataset" in told["inspect"]
    assert told["learning-rate"].endswith("in 2 steps")


@pytest.mark.frameworks("lightning")
@pytest.mark.parametrize(
    ("printed", "status", "reason"),
    [
        pytest.param(", trainer.callback_metrics", "passed", "perfect predictions score 1", id="printed"),
        pytest.param("", "passed", "perfect predictions score 1", id="logged"),
    ],
)
def test_predictions_of_an_evaluation_in_a_trainer_are_scored_where_the_script_shows_the_score(
    examine: Examine, printed: str, status: str, reason: str
) -> None:
    evaluating = """    def validation_step(self, batch, number):
        self.log("accuracy", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers"""
    script = LIGHTNING.replace("    def configure_optimizers", evaluating)
    script = script.replace("shuffle=True))", "shuffle=True), DataLoader(TensorDataset(x, y), batch_size=32))")
    script = script.replace(", trainer.callback_metrics", printed)
    (rung,) = examine(script, "metric", seconds=240, verdicts=True, codes=("TDR412",)).checkup.rungs
    assert rung.status == status
    assert reason in rung.reason


@pytest.mark.usefixtures("trainer")
def test_a_trainer_whose_updates_do_nothing_fails(climb: Climb) -> None:
    rung = climb(SCRIPT.replace("Adam(self.parameters()", "Adam([nn.Parameter(torch.zeros(2))]"), "overfit-one-batch")
    assert rung.status == "failed", rung.reason
    assert values(rung, "parameters in the optimizer") == [0]
