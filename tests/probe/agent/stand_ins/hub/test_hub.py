"""What stands in for data sets, metrics and models of the Hugging Face hub; only where its libraries are installed."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.hub,
    pytest.mark.usefixtures("farm"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("datasets", "transformers", "PIL")),
        reason="datasets and transformers are not installed",
    ),
]


@pytest.fixture
def probe(run: Any, write: Any) -> Callable[..., Any]:
    """Probes a script that is written first; gives what the command left behind."""

    def probed(script: str) -> Any:
        write("train.py", script)
        outcome = run("scan", "train.py", "--probe", "--isolated", "--probe-timeout", "300")
        assert "fails" not in outcome.err, outcome.err
        return outcome

    return probed


def test_a_well_known_set_has_its_columns_classes_and_splits(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
from datasets import load_dataset
data = load_dataset("glue", "mnli")
assert list(data) == ["train", "validation_matched", "validation_mismatched", "test_matched", "test_mismatched"]
assert data["train"].features["label"].names == ["entailment", "neutral", "contradiction"]
assert isinstance(data["train"][0]["premise"], str)
answers = load_dataset("rajpurkar/squad", split="validation")[0]
start = answers["answers"]["answer_start"][0]
assert answers["context"][start:].startswith(answers["answers"]["text"][0])
assert load_dataset("mnist", split="test")[0]["image"].size == (28, 28)
assert set(load_dataset("wmt16", "ro-en", split="train")[0]["translation"]) == {"ro", "en"}
words = load_dataset("conll2003", split="train")[0]
assert len(words["tokens"]) == len(words["ner_tags"])
""")
    assert (
        "made-up rows (train 1024, validation 256) of id, title, context, question, answers "
        "instead of `load_dataset('rajpurkar/squad')` (data that is not there)"
    ) in outcome.err


def test_splits_are_cut_streamed_and_chosen_from_as_if_all_rows_were_there(probe: Callable[..., Any]) -> None:
    probe("""
import torch
from datasets import load_dataset
assert len(load_dataset("imdb", split="train[:10%]")) == 102
assert len(load_dataset("imdb", split="train[:5000]+test[20000:20100]")) == 1124
train, test = load_dataset("imdb", split=["train", "test"])
assert len(train.select(range(20000))) == 1024 and len(train.shuffle(seed=1).select(range(10))) == 10
parts = train.train_test_split(test_size=2000)
assert len(parts["train"]) + len(parts["test"]) == 1024
assert len(list(load_dataset("c4", "en", split="train", streaming=True).take(3))) == 3
assert len(train.map(lambda row: {"n": len(row["text"])}, num_proc=4)["n"]) == 1024
""")


def test_a_set_that_nobody_knows_has_the_columns_that_are_read(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
from datasets import load_dataset, load_from_disk
data = load_dataset("somebody/complaints")
kept = load_from_disk("encoded")
files = load_dataset("csv", data_files={"train": "a.csv", "dev": "b.csv"})
data = data.map(lambda row: {"length": len(row["complaint"]), "y": row["category"]})
assert set(data["validation"].column_names) == {"complaint", "category", "length", "y"}
assert list(files) == ["train", "dev"]
print(kept["train"][0]["category"])
""")
    assert "of complaint, category instead of `load_dataset('somebody/complaints')`" in outcome.err
    assert "instead of `encoded` (data that is not there)" in outcome.err


def test_a_set_of_which_nothing_is_known_is_named(run: Any, write: Any) -> None:
    write("train.py", "import torch\nfrom datasets import load_dataset\nprint(load_dataset('somebody/things'))\n")
    outcome = run("scan", "train.py", "--probe", "--isolated")
    text = "the script loads load_dataset('somebody/things'), which is not there, and does not say which columns it has"
    assert text in outcome.err


def test_what_is_there_is_loaded(probe: Callable[..., Any], write: Any) -> None:
    write("a.csv", "text,label\nwell,1\n")
    outcome = probe("""
import torch
from datasets import load_dataset
data = load_dataset("csv", data_files="a.csv", split="train")
assert data[0] == {"text": "well", "label": 1}
data.save_to_disk("kept")
from datasets import load_from_disk
assert load_from_disk("kept")[0] == data[0]
""")
    assert "instead of" not in outcome.err


def test_metrics_are_zero(probe: Callable[..., Any]) -> None:
    outcome = probe("""
import torch
import evaluate
metric = evaluate.load("glue", "mrpc")
metric.add_batch(predictions=[1], references=[1])
assert metric.compute()["accuracy"] == 0
""")
    assert "evaluate" in outcome.err
