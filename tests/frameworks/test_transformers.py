"""What is said of transformers' trainer, and, where it is installed, what it does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.static.libraries.transformers import KEPT_ARGUMENTS, LABEL_TRAINERS, TRAINER_PARTS, dims_of_scores

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEPS = """
import inspect, json, sys, torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

seen = []


class Rows(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"x": torch.randn(4), "unused": 0, "label": i % 2}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)

    def forward(self, x, labels=None):
        seen.append(["forward", self.training, torch.is_grad_enabled(), labels is not None])
        scores = self.net(x)
        return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores}


class Watched(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        seen.append(["compute_loss", return_outputs, sorted(inputs)])
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)


def scored(prediction):
    predictions, labels = prediction
    seen.append(["compute_metrics", list(predictions.shape), list(labels.shape)])
    return {"share": 0.5}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
for name, each in (("zero_grad", model), ("step", optimizer), ("step", schedule)):
    def noted(*args, original=getattr(each, name), text=f"{type(each).__name__}.{name}", **kwargs):
        seen.append([text])
        return original(*args, **kwargs)
    setattr(each, name, noted)
settings = TrainingArguments(
    "out", num_train_epochs=1, per_device_train_batch_size=4, per_device_eval_batch_size=10, eval_strategy="epoch",
    save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True, dataloader_drop_last=False,
)
trainer = Watched(model=model, args=settings, train_dataset=Rows(), eval_dataset=Rows(), compute_metrics=scored,
                  optimizers=(optimizer, schedule))
trainer.train()
left = model.training
samplers = trainer._get_train_sampler(trainer.train_dataset), trainer._get_eval_sampler(trainer.eval_dataset)
orders = [type(sampler).__name__ for sampler in samplers]
dropping = TrainingArguments("out", dataloader_drop_last=True, report_to="none", use_cpu=True, per_device_eval_batch_size=4)
print("SEEN", json.dumps({
    "events": seen,
    "parameters": list(inspect.signature(Trainer.__init__).parameters)[1:6],
    "kept": [name for name in json.loads(sys.argv[1]) if hasattr(trainer, name)],
    "orders": orders,
    "left": left,
    "drops": len(Trainer(model=model, args=dropping, eval_dataset=Rows()).get_eval_dataloader()),
    "greater": [
        TrainingArguments("out", metric_for_best_model=name, report_to="none", use_cpu=True).greater_is_better
        for name in ("share", "eval_share", "loss", "eval_loss")
    ],
}))
"""
SCORES = """
import json, sys, torch, transformers

seen = {}
small = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=20)
for head in ("SequenceClassification", "TokenClassification", "MaskedLM", "NextSentencePrediction", "MultipleChoice"):
    model = getattr(transformers, f"BertFor{head}")(transformers.BertConfig(**small))
    ids = torch.ones((2, 3, 5) if head == "MultipleChoice" else (2, 5), dtype=torch.long)
    seen[f"transformers.BertFor{head}"] = model(input_ids=ids).logits.dim()
gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=20))
ids = torch.ones((2, 5), dtype=torch.long)
alone, both = gpt(ids, return_dict=False), gpt(ids, labels=ids, return_dict=False)
seen["transformers.GPT2LMHeadModel"] = alone[0].dim()
print("SEEN", json.dumps([seen, both[0].dim(), both[1].dim()]))
"""


def _seen(script: Path, *args: str) -> Any:
    out = subprocess.run([sys.executable, script, *args], capture_output=True, text=True, check=True).stdout
    return json.loads(next(line for line in out.splitlines() if line.startswith("SEEN"))[5:])


@pytest.mark.frameworks("transformers", "accelerate")
def test_the_trainer_does_what_is_executed_for_it(write: Callable[..., Path]) -> None:
    seen = _seen(write("steps.py", STEPS), json.dumps([*KEPT_ARGUMENTS, "accelerator", *TRAINER_PARTS]))
    of_loss = ["compute_loss", False, ["labels", "x"]]
    step = [of_loss, ["forward", True, True, True], ["SGD.step"], ["LambdaLR.step"], ["Net.zero_grad"]]
    evaluation = [["compute_loss", True, ["labels", "x"]], ["forward", False, False, True]]
    assert seen["events"] == [["Net.zero_grad"], *step * 3, *evaluation, ["compute_metrics", [10, 2], [10]]]
    assert tuple(seen["parameters"]) == tuple(LABEL_TRAINERS["transformers.Trainer"])
    assert set(seen["kept"]) == {*KEPT_ARGUMENTS, "accelerator", *TRAINER_PARTS}
    assert seen["orders"] == ["RandomSampler", "SequentialSampler"]
    assert seen["left"] is False
    assert seen["drops"] == 2
    assert seen["greater"] == [True, True, False, False]


@pytest.mark.frameworks("transformers")
def test_scores_have_the_dimensions_that_the_table_says(write: Callable[..., Path]) -> None:
    dims, loss, scores = _seen(write("scores.py", SCORES))
    assert dims == {name: dims_of_scores(name) for name in dims}
    assert (loss, scores) == (0, 3)


TUNED = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

dataset = load_dataset("trl-lib/Capybara", split="train")
parts = dataset.train_test_split(test_size=0.1, seed=0)
settings = SFTConfig("out", eval_strategy="epoch", packing=True)
trainer = SFTTrainer({model}, args=settings, train_dataset={training}, eval_dataset={held_out})
trainer.train()
"""
MODELS = ["'gpt2'", 'AutoModelForCausalLM.from_pretrained("gpt2")']


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("training", "held_out", "codes"),
    [
        ("dataset", "dataset.select(range(200))", ["TDR708"]),
        ("dataset", "dataset", ["TDR708"]),
        ("parts['train']", "parts['test']", []),
        ("dataset.select(range(200, 1000))", "dataset.select(range(200))", []),
    ],
)
def test_a_trainer_that_makes_rows_of_its_own_evaluates_samples_that_it_is_given(
    run: Any, write: Any, model: str, training: str, held_out: str, codes: list[str]
) -> None:
    write("train.py", TUNED.format(model=model, training=training, held_out=held_out))
    found = run("scan", "train.py", "--isolated", "--output-format", "json").json
    assert [each["code"] for each in found] == codes
