"""What is said of calls that the installed versions of frameworks do not take."""

from __future__ import annotations

from typing import Any

import pytest

ACCELERATE = """
from accelerate import Accelerator

accelerator = Accelerator(cpu=True, fp16=True)
"""
PEFT = """
from peft import LoraConfig

config = LoraConfig(task_type="SEQ_CLS", ranks=4)
"""
LIGHTNING = """
import lightning

trainer = lightning.Trainer(max_epoch=3)
"""
OVERRIDDEN = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Own(Trainer):
    def compute_loss(self, model, inputs):
        return model(**inputs).loss


config = BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
rows = [{"input_ids": torch.randint(5, 100, (8,)), "labels": torch.tensor(n % 2)} for n in range(16)]
arguments = TrainingArguments(output_dir="out", max_steps=2, use_cpu=True, report_to=[])
Own(model=BertForSequenceClassification(config), args=arguments, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("script", "row", "text"),
    [
        pytest.param(
            ACCELERATE,
            4,
            ["`Accelerator` of accelerate ", "has no argument `fp16`; it expects `Accelerator("],
            id="accelerate",
            marks=pytest.mark.frameworks("accelerate"),
        ),
        pytest.param(
            PEFT,
            4,
            ["`LoraConfig` of peft ", "has no argument `ranks`; it expects `LoraConfig(", "r=8, ", "more)`"],
            id="peft",
            marks=pytest.mark.frameworks("peft"),
        ),
        pytest.param(
            LIGHTNING,
            4,
            [
                "`lightning.Trainer` of lightning ",
                "has no argument `max_epoch`; it expects `lightning.Trainer(",
                "max_epochs=None",
            ],
            id="lightning",
            marks=pytest.mark.frameworks("lightning"),
        ),
        pytest.param(
            OVERRIDDEN,
            7,
            ["transformers ", "calls `self.compute_loss(", "`Own.compute_loss(model, inputs)` has no argument `"],
            id="transformers",
            marks=pytest.mark.frameworks("transformers", "accelerate"),
        ),
    ],
)
def test_the_script_fails_by_itself_at_the_line(run: Any, write: Any, script: str, row: int, text: list[str]) -> None:
    write("train.py", script)
    told = " ".join(run("scan", "train.py", "--probe", "--isolated").err.split())
    assert "train.py fails on its own: TypeError: " in told
    assert f"train.py:{row} in " in told
    assert not [each for each in text if each not in told], told


RENAMED = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
rows = [{"input_ids": torch.randint(5, 100, (8,)), "labels": torch.tensor(n % 2)} for n in range(16)]
arguments = TrainingArguments(output_dir="out", max_steps=2, use_cpu=True, report_to=[])
Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=rows, tokenizer=None).train()
"""
GPUS = """
import lightning

trainer = lightning.Trainer(max_epochs=1, gpus=0)
"""


@pytest.mark.parametrize(
    ("script", "row", "text"),
    [
        pytest.param(
            RENAMED,
            8,
            ["`Trainer` of transformers ", "has no argument `tokenizer`: it expects `processing_class`"],
            id="transformers",
            marks=pytest.mark.frameworks("transformers", "accelerate"),
        ),
        pytest.param(
            GPUS,
            4,
            ["`Trainer` of lightning ", "has no argument `gpus`: nothing replaces it"],
            id="lightning",
            marks=pytest.mark.frameworks("lightning"),
        ),
    ],
)
def test_what_the_probe_renames_is_told_as_an_error(
    run: Any, write: Any, script: str, row: int, text: list[str]
) -> None:
    write("train.py", script)
    told = " ".join(run("scan", "train.py", "--probe", "--isolated").err.split())
    assert f"train.py:{row}:" in told
    assert "without the probe, the script fails by itself here" in told
    assert not [each for each in text if each not in told], told
