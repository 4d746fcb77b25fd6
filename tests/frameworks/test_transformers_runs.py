"""What a run of transformers' trainer shows: its loops, its loaders, and what becomes of the predictions that it has scored."""

from __future__ import annotations

from typing import Any

import pytest

SCRIPT = """
import copy

import numpy as np
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments


def tickets(n, seed):
    generator = np.random.default_rng(seed)
    ids = generator.integers(2, 40, size=(n, 8))
    names = [f"ticket {{number}}" for number in range(n)]
    return Dataset.from_dict({{"input_ids": ids.tolist(), "labels": (ids[:, 0] % 3).tolist(), "name": names}})


def metrics(prediction):
    scores, labels = prediction
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis={axis}, keepdims=True)
    return {{"likelihood": float(-np.log(shares[np.arange(len(labels)), labels]).mean())}}


class Compared(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kwargs):
        kept = copy.deepcopy(control)
        trainer.evaluate(trainer.train_dataset, metric_key_prefix="train")
        return kept


parts = tickets(200, seed=0).train_test_split(test_size=0.25, seed=0)
net = BertForSequenceClassification(
    BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=3)
)
settings = TrainingArguments(
    "tickets", eval_strategy="epoch", save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True,
    per_device_train_batch_size=16, per_device_eval_batch_size=16, gradient_accumulation_steps=2{settings},
)
trainer = Trainer(
    model=net,
    args=settings,
    train_dataset=parts["train"],
    eval_dataset=parts["{part}"],
    compute_metrics=metrics,
)
{callback}
trainer.train()
print(trainer.predict(tickets(40, seed=1)).metrics)
"""
RIGHT = {"axis": "1", "settings": "", "part": "test", "callback": "trainer.add_callback(Compared())"}
WRONG = [
    ({"axis": "0"}, "TDR216"),
    ({"part": "train", "callback": ""}, "TDR708"),
    ({"settings": ", dataloader_drop_last=True"}, "TDR712"),
]
LOOPS = [
    "loop over `the epochs`",
    "iteration 1",
    "loop over `the batches`, batch by batch",
    "iteration 1",
    "iteration 2",
    "iteration 3",
    "iteration 4",
    "iteration 5",
    "iteration 6",
    "loop over `the evaluated batches`, batch by batch",
    "iteration 1",
    "iteration 2",
    "iteration 3",
    "iteration 4",
    "iteration 2",
]
"""How the loops of a run with one loader for the training and one for the evaluation begin."""


@pytest.mark.frameworks("transformers", "accelerate", "datasets")
def test_a_right_run_has_no_findings(run: Any, write: Any) -> None:
    write("train.py", SCRIPT.format(**RIGHT))
    assert run("scan", "train.py", "--isolated", "--probe", "--output-format", "json").json == []


@pytest.mark.frameworks("transformers", "accelerate", "datasets")
@pytest.mark.parametrize(("wrong", "code"), WRONG)
def test_a_run_confirms_it(run: Any, write: Any, wrong: dict[str, str], code: str) -> None:
    write("train.py", SCRIPT.format(**RIGHT | wrong))
    found = run("scan", "train.py", "--isolated", "--probe", "--output-format", "json").json
    assert [(each["code"], each["verdict"]) for each in found] == [(code, "confirmed")]


@pytest.mark.frameworks("transformers", "accelerate", "datasets")
def test_passes_are_those_of_the_loops_that_the_trainer_runs(run: Any, write: Any) -> None:
    write("train.py", SCRIPT.format(**RIGHT | {"callback": ""}))
    recorded = run("trace", "train.py", "--probe").out.partition("recorded at run time")[2]
    lines = [line.partition("  ")[2].partition(":")[0].strip() for line in recorded.splitlines()]
    begun = [line for line in lines if line.startswith(("loop over", "iteration"))]
    assert begun[: len(LOOPS)] == LOOPS
    before, _, update = recorded.partition("iteration 1\n")[2].partition("loop over `the batches`, batch by batch\n")
    window = [each.partition("iteration")[0] for each in update.split("iteration ")[1:3]]
    assert "take a batch" not in before
    assert [each.count("backward `trainer`") for each in window] == [1, 1]
    assert [each.count("step `trainer`") for each in window] == [0, 1]
