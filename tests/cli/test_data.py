"""`trace --data`: the rows of loaders next to the source, what differs from training, and what a run shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import transforms


class Walls(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[index]


images, labels = torch.rand(300, 3, 8, 8), torch.randint(2, (300,))
prepare = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.Normalize([0.5], [0.25])])
train_set = Walls(images[:200], labels[:200], prepare)
val_set = Walls(images[200:], labels[200:])
train_loader = DataLoader(train_set, batch_size=10, shuffle=True)
val_loader = DataLoader(val_set, batch_size=10)
idle = DataLoader(random_split(val_set, [80, 20])[0], batch_size=10)
model = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in train_loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
with torch.no_grad():
    for x, y in val_loader:
        print(nn.functional.cross_entropy(model(x), y).item())
"""


def loaders(run: Run) -> dict[str, dict[str, Any]]:
    """What is told of each loader of the source, by its name."""
    found = run("trace", "--data", "train.py", "--output-format", "json").json
    return {each["name"]: each for each in found}


def test_rows_are_told_by_source_selection_order_and_preparation(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT)
    found = loaders(run)
    train, val, idle = found["train_loader"], found["val_loader"], found["idle"]
    assert [each["use"] for each in (train, val, idle)] == ["training", "evaluation", ""]
    assert [each["source"] for each in (train, val, idle)] == ["Walls"] * 3
    assert [each["selection"] for each in (train, val)] == ["[:200]", "[200:]"]
    assert idle["selection"].startswith("a random part")
    assert [each["order"] for each in (train, val, idle)] == ["shuffled", "stored", "shuffled"]
    assert [each["name"] for each in train["preparations"]] == ["RandomHorizontalFlip()", "Normalize([0.5], [0.25])"]
    assert val["sample"] == "float32[3, 8, 8], int64[]"


def test_what_differs_from_training_is_told_without_random_transforms(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT)
    assert loaders(run)["val_loader"]["unlike_training"] == ["without `Normalize([0.5], [0.25])`"]
    assert loaders(run)["train_loader"]["unlike_training"] == []


def test_equal_rows_and_random_evaluation_are_told(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT.replace("Walls(images[200:], labels[200:])", "train_set"))
    assert loaders(run)["val_loader"]["unlike_training"] == [
        "the same rows",
        "changed at random by `RandomHorizontalFlip()`",
    ]


def test_notes_stand_beside_the_lines_that_build_loaders(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT)
    out = run("trace", "--data", "train.py").out.splitlines()
    assert out[0] == "train.py"
    assert out[1].startswith("25  train_loader = DataLoader(")
    assert out[1].endswith("training: Walls, [:200]")
    assert any(row.strip() == "unlike training: without `Normalize([0.5], [0.25])` (line 22)" for row in out)


def test_a_run_adds_numbers(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT)
    out = run("trace", "--data", "--probe", "train.py", "--device", "cpu").out
    assert "run: 200 samples, batches of 10, float32 and int64, mean " in out


def test_a_script_without_loaders_says_so(run: Run, write: Callable[..., Path]) -> None:
    write("plain.py", "import torch\nprint(torch.ones(1))\n")
    outcome = run("trace", "--data", "plain.py")
    assert (outcome.out, "no data loader found" in outcome.err) == ("", True)


def test_only_one_view_at_a_time(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT)
    outcome = run("trace", "--gradients", "--data", "train.py")
    assert (outcome.status, "either `--shapes`, `--gradients` or `--data`" in outcome.err) == (2, True)


def test_records_are_json(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT)
    assert json.loads(run("trace", "--data", "train.py", "--output-format", "json").out)[0]["path"] == "train.py"
