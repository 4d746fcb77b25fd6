"""`trace --data`: the rows of loaders next to the source, what differs from training, and what a run shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome
FIXTURES = Path(__file__).parents[2] / "fixtures"

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


def unlike(run: Run, name: str) -> list[str]:
    """The codes of what rules find beside training."""
    return [each["code"] for each in loaders(run)[name]["unlike_training"]]


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
    assert unlike(run, "val_loader") == ["TDR713"]
    assert unlike(run, "train_loader") == []
    places = loaders(run)["val_loader"]["unlike_training"][0]["places"]
    assert [each["row"] for each in places] == [26, 25, 22, 26]


def test_equal_rows_and_random_evaluation_are_told(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT.replace("Walls(images[200:], labels[200:])", "train_set"))
    assert unlike(run, "val_loader") == ["TDR708"]
    write("train.py", SCRIPT.replace("labels[200:])", "labels[200:], prepare)"))
    assert unlike(run, "val_loader") == ["TDR706"]


def test_rows_that_are_left_out_are_told(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT.replace("val_set, batch_size=10)", "val_set, batch_size=30, drop_last=True)"))
    assert unlike(run, "val_loader") == ["TDR712", "TDR713"]


def test_what_is_told_is_what_the_scan_reports(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT.replace("val_set, batch_size=10)", "val_set, batch_size=30, drop_last=True)"))
    reported = run("scan", "train.py", "--output-format", "json").json
    told = loaders(run)["val_loader"]["unlike_training"]
    assert {each["text"] for each in told} <= {each["message"] for each in reported}


def test_rows_of_no_loader_are_told_where_they_are_prepared(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", (FIXTURES / "TDR713/bad_prediction_not_normalised.py").read_text(encoding="utf-8"))
    found = loaders(run)[""]
    assert (found["use"], found["unlike_training"][0]["row"]) == ("evaluation", found["row"])
    assert "evaluation without a loader" in run("trace", "--data", "train.py").out


def test_notes_stand_beside_the_lines_that_build_loaders(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", SCRIPT)
    out = run("trace", "--data", "train.py").out.splitlines()
    assert out[0] == "train.py"
    assert out[1].startswith("25  train_loader = DataLoader(")
    assert out[1].endswith("training: Walls, [:200]")
    text = "unlike training: `model` is evaluated on images that are not scaled as in training: the score is too low (TDR713)"
    told = [row.strip() for row in out]
    assert told[told.index(text) + 3] == "line 22: training images are transformed here"


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
