"""Which rows of a hub's data sets two loaders read, by the splits and the parts that they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import scan
from torch_doctor.scan.options import Options
from torch_doctor_rules.data.train_data_evaluated import TrainDataEvaluated
from torch_doctor_rules.data.train_loader_not_shuffled import TrainLoaderNotShuffled

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
import torch
from datasets import load_dataset
from torch.utils.data import DataLoader

digits = load_dataset("mnist").with_format("torch")
train = digits["train"]
mixed = train.shuffle(seed=7)
parts = train.train_test_split(test_size=0.1)
{before}
net = torch.nn.Linear(784, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
train_loader = DataLoader({trained}, batch_size=32, shuffle=True)
test_loader = DataLoader({evaluated}, batch_size=32)
for batch in train_loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(batch["image"]), batch["label"]).backward()
    optimizer.step()
with torch.no_grad():
    for batch in test_loader:
        print(torch.nn.functional.cross_entropy(net(batch["image"]), batch["label"]).item())
"""


def overlap(tmp_path: Path, trained: str, evaluated: str, before: str = "") -> bool:
    """Whether the rows that are evaluated are found to be trained on."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(trained=trained, evaluated=evaluated, before=before))
    return bool(scan(Options(paths=(path,), rules=(TrainDataEvaluated(),), jobs=1)).findings)


@pytest.mark.parametrize(
    ("trained", "evaluated"),
    [
        ("train", "digits['train']"),
        ("train", "load_dataset('mnist', split='train')"),
        ("train", "load_dataset('mnist', split='train[:10%]')"),
        ("train", "train.map(lambda row: row).remove_columns(['x'])"),
        ("train", "train.filter(lambda row: row['label'] < 5)"),
        ("train", "parts['test']"),
        ("train", "mixed.select(range(100))"),
        ("mixed.select(range(2000))", "mixed.select(range(1500, 2500))"),
        ("mixed.take(2000)", "mixed.select(range(1500, 2500))"),
        ("load_dataset('mnist', split='train[:80%]')", "load_dataset('mnist', split='train[70%:]')"),
    ],
)
def test_the_same_split_or_a_part_of_it_has_rows_in_common(tmp_path: Path, trained: str, evaluated: str) -> None:
    assert overlap(tmp_path, trained, evaluated)


@pytest.mark.parametrize(
    ("trained", "evaluated"),
    [
        ("train", "digits['test']"),
        ("train", "load_dataset('fashion_mnist', split='train')"),
        ("parts['train']", "parts['test']"),
        ("mixed.select(range(2000))", "mixed.select(range(2000, 2500))"),
        ("mixed.take(1000)", "mixed.skip(1000)"),
        ("train.select(range(1000))", "mixed.select(range(500, 1500))"),
        ("train.shuffle(seed=7).select(range(1000))", "train.shuffle(seed=8).select(range(900, 1500))"),
        ("load_dataset('mnist', split='train[:80%]')", "load_dataset('mnist', split='train[80%:]')"),
        ("load_dataset('csv', data_files=sys.argv[1])", "load_dataset('csv', data_files=sys.argv[2])"),
        ("train.filter(lambda row: row['x'] < 5)", "train.filter(lambda row: row['x'] > 4)"),
        ("load_dataset('mnist', streaming=True)['train']", "load_dataset('mnist', streaming=True)['train']"),
    ],
)
def test_other_rows_or_those_of_which_nobody_knows_have_none(tmp_path: Path, trained: str, evaluated: str) -> None:
    assert not overlap(tmp_path, trained, evaluated)


def test_of_splits_that_are_put_under_other_names_nothing_is_known(tmp_path: Path) -> None:
    before = (
        "digits['test'] = digits['train'].select(range(500))\ndigits['train'] = digits['train'].select(range(500, 900))"
    )
    assert not overlap(tmp_path, "digits['train']", "digits['test']", before)
    assert not overlap(tmp_path, "digits['train']", "train", before)


@pytest.mark.parametrize(
    ("trained", "told"),
    [
        ("train", True),
        ("train.filter(lambda row: row['label'] < 5).select(range(100))", True),
        ("mixed", False),
        ("mixed.select(range(2000))", False),
        ("parts['train']", False),
        ("train.sort('label')", False),
        ("load_dataset('json', data_files='rows.jsonl', split='train')", False),
    ],
)
def test_rows_of_a_hub_are_in_stored_order_until_somebody_shuffles_or_splits_them(
    tmp_path: Path, trained: str, told: bool
) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(trained=trained, evaluated="digits['test']", before="").replace("shuffle=True", ""))
    rules = (TrainLoaderNotShuffled(),)
    assert bool(scan(Options(paths=(path,), rules=rules, jobs=1)).findings) is told
