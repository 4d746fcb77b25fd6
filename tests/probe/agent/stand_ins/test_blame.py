"""What the probe puts in the place of what is not there is never told as the script's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

MOVED = """
import pickle

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def on_device(batch):
    return {name: values.to(device) for name, values in batch.items()}


rows = pickle.load(open("rows.pkl", "rb"))
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for number in range(8):
        row = rows[number]
        x, y = MOVE
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""
MOVES = {
    "nowhere": 'row["x"], row["y"].to(device)',
    "each": 'row["x"].to(device), row["y"].to(device)',
    "keyword": 'row["x"].to(device=device, non_blocking=True), row["y"].to(device=device)',
    "whole": 'on_device({"x": row["x"], "y": row["y"]}).values()',
    "before": '(lambda moved: (moved["x"], moved["y"]))(row.to(device))',
}


@pytest.mark.parametrize("move", MOVES)
def test_nobody_is_blamed_for_where_a_made_up_batch_is(move: str, run: Any, write: Callable[..., Any]) -> None:
    write("train.py", MOVED.replace("MOVE", MOVES[move]))
    done = run("scan", "train.py", "--probe", "--isolated", "--select", "TDR802")
    assert "inferred from their use" in done.err
    assert "reached 0 optimizer steps" not in done.err
    assert "TDR802" not in done.out


EMPTY = """
import os
from pathlib import Path

import torch

os.makedirs("runs/first", exist_ok=True)
open("runs/first/log.txt", "w").write("begun")
print("there:", [ask("") for ask in (os.path.exists, os.path.isfile, os.path.isdir, os.path.lexists)])
print("may be read:", os.access("", os.R_OK))
for change in (os.listdir, os.stat, open, lambda path: open(path, "w"), os.mkdir, os.remove, os.chdir):
    try:
        change("")
        print("no error of", change)
    except FileNotFoundError:
        pass
print("here:", Path("").exists(), sorted(os.listdir("runs")))
"""


def test_nothing_is_at_the_empty_path_once_something_was_written(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", EMPTY)
    err = run("scan", "train.py", "--probe", "--isolated", "--probe-output").err
    assert "there: [False, False, False, False]" in err
    assert "may be read: False" in err
    assert "no error" not in err
    assert "here: True ['first']" in err


LISTED = """
import os
from os import listdir
from os.path import isfile, join
from pathlib import Path


class Pictures:
    def __init__(self, folder):
        self.names = NAMES
        if not self.names:
            raise RuntimeError("no picture in", folder)

    def __len__(self):
        return len(self.names)


try:
    pictures = Pictures(Path("data/imgs"))
except (AssertionError, IndexError):
    raise SystemExit("gave up")

import torch

print("pictures:", len(pictures))
"""
LISTS = {
    "listdir": '[name for name in listdir(folder) if isfile(join(folder, name)) and not name.startswith(".")]',
    "iterdir": "[path.stem for path in folder.iterdir()]",
    "glob": '[path.stem for path in folder.glob("*")]',
    "walk": "[name for _, _, names in os.walk(folder) for name in names]",
}


@pytest.mark.parametrize("there", [True, False], ids=["empty", "missing"])
@pytest.mark.parametrize("how", LISTS)
def test_an_empty_folder_of_pictures_is_filled_as_a_missing_one_is(
    how: str, there: bool, run: Any, write: Callable[..., Any], folder: Any
) -> None:
    pytest.importorskip("PIL")
    write("train.py", LISTED.replace("NAMES", LISTS[how]))
    if there:
        (folder / "data" / "imgs").mkdir(parents=True)
    err = run("scan", "train.py", "--probe", "--isolated", "--probe-output").err
    assert "fails" not in err
    assert "pictures: 64" in err or "pictures: 512" in err


def test_a_folder_of_data_that_nobody_knows_is_gone_over(run: Any, write: Callable[..., Any], folder: Any) -> None:
    write("train.py", LISTED.replace("NAMES", "sorted(os.listdir(folder))").replace("data/imgs", "corpus"))
    (folder / "corpus").mkdir()
    err = run("scan", "train.py", "--probe", "--isolated", "--probe-output").err
    assert "fails" not in err
    assert "the data cannot be read (RuntimeError" in err


def test_future_imports_of_later_cells_hold_from_there_on(run: Any, write: Callable[..., Any]) -> None:
    cells = [
        "import torch\n",
        "x = 1; from __future__ import division; y = 3 / 2\nfrom __future__ import (\n    annotations,\n    print_function,\n)\n",
        "def use(known: Unknown):\n    return known\n\nprint('use', use(y), use.__annotations__)\n",
    ]
    write("train.ipynb", cells)
    err = run("scan", "train.ipynb", "--probe", "--isolated", "--probe-output").err
    assert "use 1.5 {'known': 'Unknown'}" in err


TABLES = """
import pandas as pd
import torch

power = pd.read_csv("a.csv", index_col="date")[["power"]]
load = pd.read_csv("b.csv", usecols=["day", "load"], parse_dates=["day"], index_col="day")
numbered = pd.read_csv("c.csv", index_col=0)
named = pd.read_csv("d.csv", names=["a", "b", "c"], index_col=0)
plain = pd.read_csv("e.csv", header=None, index_col=0)
typed = pd.read_csv("f.csv", dtype={"sex": "category", "age": "float32"})
later = pd.read_csv("g.csv").set_index("time").sort_values("height")
cities = pd.read_csv("h.csv", index_col=["city", "year"])
places = pd.read_csv("i.csv", usecols=[0, 2])
first = pd.read_csv("j.csv", parse_dates=[0], index_col=0, names=["when", "what"])
whole = pd.read_csv("k.csv", parse_dates=True, index_col="when")
print("indexed by", power.index.name, load.index.dtype.kind, list(named.columns), later.index.name)
print("columns", list(numbered[["x", "y"]].columns), list(plain.columns)[:2], list(load.columns), places.shape[1])
print("of types", typed["sex"].dtype, typed["age"].dtype, cities.index.names, first.index.dtype.kind, whole.index.dtype.kind)
"""


@pytest.mark.frameworks("pandas")
def test_a_missing_table_has_the_columns_that_its_reader_is_told_of(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", TABLES)
    err = run("scan", "train.py", "--probe", "--isolated", "--probe-output").err
    assert "fails" not in err
    assert "indexed by date M ['b', 'c'] time" in err
    assert "columns ['x', 'y'] [1, 2] ['load'] 2" in err
    assert "of types category float32 ['city', 'year'] M M" in err
