"""Which columns a script reads of a data set that is not there, told from its source alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.probe.agent.stand_ins.hub import columns
from torch_doctor.probe.agent.stand_ins.source import Sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Read = "Callable[[str], dict[str, str]]"


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Gives the columns, and their kinds, of the data set that a script holds as `data`."""

    def found(script: str) -> dict[str, str]:
        path = tmp_path / "train.py"
        path.write_text(script, encoding="utf-8")
        return columns.read(Sources(str(tmp_path), str(path)), {"data"})

    return found


def test_columns_are_read_where_rows_are_mapped(read: Callable[[str], dict[str, str]]) -> None:
    script = """
def encode(batch):
    out = tokenizer(batch["review_text"])
    out["labels"] = batch["stars"]
    return out
data.map(encode, batched=True, remove_columns=["user"])
data.filter(lambda row: row["verified"] == "yes")
"""
    assert read(script) == {
        "review_text": "text",
        "stars": "class:2",
        "verified": "words:yes",
        "user": "text",
    }


def test_columns_are_followed_through_splits_loops_and_classes(read: Callable[[str], dict[str, str]]) -> None:
    script = """
class Pairs(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        row = self.rows[index]
        return row["question"], row["image"]

train = Pairs(data["train"])
for example in data["test"]:
    print(example["similarity"])
"""
    assert read(script) == {"question": "text", "image": "image:64x64x3", "similarity": "float"}


def test_a_column_that_is_renamed_is_one_and_its_new_name_is_none(read: Callable[[str], dict[str, str]]) -> None:
    script = """
num_labels = 5
data = data.rename_column("label", "labels")
collate = lambda rows: [(row["labels"], row["input_ids"], row["text"]) for row in rows]
loader = DataLoader(data, collate_fn=collate)
"""
    assert read(script) == {"text": "long", "label": "class:5"}


def test_names_of_columns_come_from_constants_and_defaults_of_arguments(read: Callable[[str], dict[str, str]]) -> None:
    script = """
TARGET = "intent"
parser.add_argument("--text_column", default="utterance")
def encode(row):
    return {"x": tokenizer(row[args.text_column]), "y": row[TARGET]}
data.map(encode)
"""
    assert read(script) == {"utterance": "text", "intent": "class:2"}


def test_what_goes_to_a_tokenizer_is_text_whatever_it_is_called(read: Callable[[str], dict[str, str]]) -> None:
    script = """
def encode(rows):
    targets = rows["label"]
    return {"x": tokenizer(rows["category"]), "y": tokenizer(targets), "z": rows["topic"]}
data.map(encode)
"""
    assert read(script) == {"label": "text", "category": "text", "topic": "class:2"}


def test_what_is_read_of_other_things_is_no_column(read: Callable[[str], dict[str, str]]) -> None:
    assert read('config["depth"]\nfor batch in loader:\n    print(batch["pixels"], data["train"])\n') == {}
