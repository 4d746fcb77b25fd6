"""Data of any form that is not there: the script goes on, and its loop gets the tensors that it wants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

BEGINNING = """
import json
import os
import pickle
import xml.etree.ElementTree as ET

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

"""
MODEL = """
model = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOADER = """
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
PICKLE = """
with open("data.pkl", "rb") as file:
    words = pickle.load(file)
    labels = pickle.load(file)
loader = DataLoader(TensorDataset(torch.tensor(words["ids"]), torch.tensor(labels)), batch_size=4)
"""
JSON = """
class Boxes(Dataset):
    def __init__(self, path):
        self.rows = json.load(open(path))["annotations"]
        self.names = {row["id"]: row["file_name"] for row in self.rows}
        if len(self.rows) == 0:
            raise RuntimeError("found 0 pictures")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return torch.tensor(self.rows[place]["box"]), self.rows[place]["label"]


loader = DataLoader(Boxes("annotations.json"), batch_size=4, shuffle=True)
"""
SHARDS = """
class Shards(Dataset):
    def __init__(self, folder):
        self.paths = sorted(name for name in os.listdir(folder) if name.endswith(".shard"))
        assert self.paths, "no shards found"
        self.rows = [np.load(os.path.join(folder, path)) for path in self.paths]

    def __len__(self):
        return sum(map(len, self.rows))

    def __getitem__(self, place):
        return self.rows[place]


loader = DataLoader(Shards("shards"), batch_size=4)
"""
XML = """
def boxes_of(path):
    root = ET.parse(path).getroot()
    found = []
    for each in root.findall("object"):
        name = each.find("name").text
        found.append([int(each.find("bndbox").find(side).text) for side in ("xmin", "ymin", "xmax")] + [names[name]])
    return found


names = {"cat": 0, "dog": 1}
rows = boxes_of("annotations/1.xml")
loader = DataLoader(TensorDataset(torch.tensor(rows)[:, :3], torch.tensor(rows)[:, 3]), batch_size=4)
"""
BY_HAND = """
def load(path):
    rows = np.load(path, allow_pickle=True)
    return np.array([row[0] for row in rows]).reshape(-1, 12), np.array([row[1] for row in rows])


inputs, targets = load("rows.npy")
inputs, targets = torch.from_numpy(inputs).float(), torch.from_numpy(targets).long()
for epoch in range(2):
    for at in range(0, len(inputs), 4):
        x, y = inputs[at : at + 4], targets[at : at + 4]
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
GENERATOR = """
def batches(path):
    with open(path, "rb") as file:
        for row in pickle.load(file):
            yield torch.tensor(row["values"]), torch.tensor(row["label"])


criterion = nn.CrossEntropyLoss()
for epoch in range(2):
    for x, y in batches("rows.pkl"):
        optimizer.zero_grad()
        loss = criterion(model(x.float()), y)
        loss.backward()
        optimizer.step()
"""
ASKS = """
import sys
from pathlib import Path

def main(path):
    {asks}
    with open(path, "rb") as file:
        table = pickle.load(file)
    {counts}
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for row in table:
            optimizer.zero_grad()
            F.cross_entropy(model(row["values"]), row["label"]).backward()
            optimizer.step()

main("rows.pkl")
"""
EXITS = ASKS.format(
    asks="if not Path(path).exists():\n        print('first get the data')\n        sys.exit(1)", counts=""
)
RAISES = ASKS.format(asks="if not Path(path).is_file():\n        raise SystemExit('no data')", counts="")
RETURNS = ASKS.format(asks="if not Path(path).exists():\n        return", counts="")
FINDS_NONE = ASKS.format(
    asks="found = [each for each in Path('rows').glob('*.pkl')]", counts="if not found:\n        exit('no files')"
)
UNKNOWN = """
import scenery

world = scenery.World(4)
model = nn.Linear(12, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    seen = torch.tensor([world.look(angle) for angle in range(12)], dtype=torch.float)
    optimizer.zero_grad()
    model(seen).sum().backward()
    optimizer.step()
"""
BY_PATH = """
from pathlib import Path

settings = json.loads(Path("settings.json").read_text())
with Path("rows.pkl").open("rb") as file:
    rows = pickle.load(file)
model = nn.Linear(12, settings["classes"])
optimizer = torch.optim.SGD(model.parameters(), lr=settings["learning_rate"])
loader = DataLoader(TensorDataset(torch.tensor(rows["values"]), torch.tensor(rows["labels"])), batch_size=4)
"""
FORMS = {
    "unknown": UNKNOWN,
    "by path": BY_PATH + LOADER,
    "exits": EXITS,
    "raises": RAISES,
    "returns": RETURNS,
    "finds none": FINDS_NONE,
    "pickle": PICKLE + MODEL + LOADER,
    "json": JSON + MODEL + LOADER,
    "shards": SHARDS + MODEL + LOADER,
    "xml": XML + MODEL + LOADER,
    "by hand": MODEL + BY_HAND,
    "generator": MODEL + GENERATOR,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_script_reaches_updates_whatever_its_data_would_be(form: str, run: Any, write: Callable[..., Any]) -> None:
    write("train.py", BEGINNING + FORMS[form])
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    updates = re.search(r"reached (\d+) optimizer step", err)
    assert updates is not None
    assert int(updates[1]) > 1, err


OWN = """
import torch

rows = open("rows.txt").read().split()
model = torch.nn.Linear(3, 1)
print(modle(torch.ones(2, 3)))
"""


def test_a_fault_of_the_script_itself_is_none_of_its_data(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", OWN)
    assert "NameError: name 'modle' is not defined" in run("scan", "train.py", "--probe", "--isolated").err


HANDLED = """
import pickle

import torch

try:
    rows = pickle.load(open("rows.pkl", "rb"))
except OSError:
    rows = [[1.0, 2.0, 3.0]]
assert rows == [[1.0, 2.0, 3.0]]
print("rows:", torch.tensor(rows).sum().item())
"""


def test_what_the_script_knows_how_to_handle_is_left_to_it(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", HANDLED)
    err = run("scan", "train.py", "--probe", "--isolated", "--probe-output").err
    assert "rows: 6.0" in err
    assert "known by their use" not in err


WITHIN = """
import torch

rows = [float(line) for line in open("rows.txt")]
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(3, 1))
model(torch.ones(2, 3)).mean().backward()
"""


def test_a_model_that_fails_fails(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", WITHIN)
    assert "fails" in run("scan", "train.py", "--probe", "--isolated").err


UNKNOWN = """
import pickle

import torch

graphs = pickle.load(open("graphs.pkl", "rb"))
weight = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for graph in graphs:
    optimizer.zero_grad()
    loss = graph.energy(weight.tolist())
    loss.backward()
    optimizer.step()
"""


def test_nothing_is_trained_with_a_loss_that_was_never_computed(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", UNKNOWN)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "reached 0 optimizer steps" in outcome.err
    assert "values that could not be read have no `backward`" in outcome.err
    assert "confirmed" not in outcome.out


DRAWING = """
import matplotlib.pyplot as plt


def show(loader):
    pictures, labels = next(iter(loader))
    pictures = nn.Flatten()(pictures)
    figure = plt.figure()
    for number in range(4):
        axes = figure.add_subplot(2, 4 / 2, number + 1, xticks=[])
        axes.imshow(pictures[number].reshape(3, 4))
        axes.set_title(str(labels[number].item()))
    plt.cm.no_such_map(1)
    plt.close(figure)


loader = DataLoader(TensorDataset(torch.randn(16, 12), torch.randint(3, (16,))), batch_size=4)
show(loader)
"""


def test_what_fails_while_it_draws_is_left_out(run: Any, write: Callable[..., Any]) -> None:
    pytest.importorskip("matplotlib")
    write("train.py", BEGINNING + DRAWING + MODEL + LOADER)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert re.search(r"reached [2-9] optimizer steps", err)
    assert "it fails in matplotlib (ValueError: Number of columns must be a positive integer, not 2.0)" in err
    assert "it fails in matplotlib (AttributeError: " in err
    assert "cannot be judged" not in err


def test_a_computation_that_fails_beside_a_drawing_fails(run: Any, write: Callable[..., Any]) -> None:
    pytest.importorskip("matplotlib")
    write(
        "train.py", BEGINNING + "import matplotlib.pyplot as plt\nplt.plot(torch.ones(3, requires_grad=True))\n" + MODEL
    )
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "train.py fails on its own: RuntimeError: Can't call numpy()" in err
