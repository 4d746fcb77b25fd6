"""Folders of pictures that are not there, and pools that read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

MASKS = """
from functools import partial
from multiprocessing import Pool
from os import listdir, path
from pathlib import Path

import numpy as np
import torch
from PIL import Image

names = [path.splitext(name)[0] for name in listdir("data/pictures")]


def values_of(name, folder, suffix):
    return np.unique(np.asarray(Image.open(list(folder.glob(name + suffix + ".*"))[0])))


with Pool() as pool:
    found = list(pool.imap(partial(values_of, folder=Path("data/masks"), suffix="_mask"), names))
assert len(found) == len(names) > 0
assert np.unique(np.concatenate(found)).tolist() == [0, 1]
print("read", torch.zeros(1))
"""


POOL = """
from multiprocessing import Pool

import torch


def doubled(number):
    return 2 * number


with Pool(2) as pool:
    assert pool.map(doubled, [1, 2, 3]) == [2, 4, 6]
print(torch.zeros(1))
"""

TRAIN = """
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for pictures, labels in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(pictures), labels).backward()
    optimizer.step()
"""
DEEP = (
    """
import os

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Characters(Dataset):
    def __init__(self, root):
        self.rows = []
        for alphabet in os.listdir(root):
            for number, character in enumerate(os.listdir(os.path.join(root, alphabet))):
                folder = os.path.join(root, alphabet, character)
                self.rows += [(os.path.join(folder, name), number % 5) for name in os.listdir(folder)[:1]]
        if len(self.rows) < 16:
            raise ValueError("too few pictures")

    def __len__(self):
        return 32

    def __getitem__(self, place):
        path, label = self.rows[place]
        picture = np.array(Image.open(path).convert("L").resize((8, 8)))
        return torch.from_numpy(picture).float() / 255, label


loader = DataLoader(Characters("data/background"), batch_size=8)
"""
    + TRAIN
)
FLAT = (
    """
import os

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


def opened(path):
    if os.path.splitext(path)[1] == ".png":
        return Image.open(path)
    raise ValueError("only .png")


class Folder(Dataset):
    def __init__(self, path):
        self.paths = [os.path.join(path, "images", name) for name in os.listdir(os.path.join(path, "images"))]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, place):
        picture = np.array(opened(self.paths[place]).convert("L").resize((8, 8)))
        return torch.from_numpy(picture).float() / 255, place % 5


class Classes(Folder):
    def __init__(self, path):
        self.paths = []
        for name in os.listdir(path):
            if os.path.isdir(os.path.join(path, name)):
                self.paths += [os.path.join(path, name, each) for each in os.listdir(os.path.join(path, name))]


loader = DataLoader(KIND("data/train"), batch_size=8)
"""
    + TRAIN
)
RECORDS = """
import json

import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Records(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.lines = json.load(file)
        self.transform = transforms.Compose([transforms.Resize((16, 16)), transforms.ToTensor()])

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, place):
        picture, label = self.lines[place].split(" ")
        return self.transform(Image.open("data/" + picture).convert("RGB")), int(label) % 2


loader = DataLoader(Records("data/train.json"), batch_size=4)
model = nn.Sequential(nn.Flatten(), nn.Linear(768, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for pictures, labels in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(pictures), labels).backward()
    optimizer.step()
"""
SAVED = """
import os

import torch
from torch import nn

FOLDER = "/data/weights/net/"
if not os.path.exists(FOLDER):
    os.mkdir(FOLDER)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,))).backward()
    optimizer.step()
torch.save(model.state_dict(), FOLDER + "net.pt")
"""


def test_a_pool_is_one_thread_where_torch_was_imported_before_it(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", POOL)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "refused" not in err
    assert "one thread instead of `multiprocessing.Pool` (2 processes)" in err


def test_masks_have_the_names_that_a_pool_asks_for(run: Any, write: Callable[..., Any]) -> None:
    pytest.importorskip("PIL")
    write("train.py", MASKS)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "under the requested names instead of `data/masks` (data not found)" in err
    assert "one thread instead of `multiprocessing.Pool`" in err


FURTHER = """
import glob
import os

import numpy as np
import torch
from PIL import Image


def folders_of(root):
    found = []
    for patient in filter(os.path.isdir, map(lambda name: os.path.join(root, name), os.listdir(root))):
        for scan in filter(os.path.isdir, map(lambda name: os.path.join(patient, name), os.listdir(patient))):
            found.append(scan)
    return found


folders = folders_of("data/scans")
assert len(folders) == 16, folders
assert np.asarray(Image.open(glob.glob(os.path.join(folders[0], "*.jpg"))[0])).shape == (256, 256, 3)
assert len(open(glob.glob(os.path.join(folders[0], "*.txt"))[0]).readlines()) > 8
print("read", torch.zeros(1))
"""


def test_pictures_lie_as_deep_as_the_code_looks_for_folders(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", FURTHER)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "placeholder values" not in err
    assert "random images 256×256, 2 classes instead of `folder('data/scans')`" in err


def test_a_picture_that_is_listed_gives_way_to_a_folder(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", DEEP)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert re.search(r"reached [2-9] optimizer steps", err)
    assert "NotADirectoryError" not in err


def test_pictures_of_any_name_can_be_opened(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", RECORDS)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert re.search(r"reached [2-9] optimizer steps", err)
    assert "random images 256×256 instead of `images`" in err


@pytest.mark.parametrize("place", ["/data", ".."])
def test_a_folder_that_is_made_is_not_there_before(place: str, run: Any, write: Callable[..., Any]) -> None:
    write("train.py", SAVED.replace("/data", place))
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert re.search(r"reached [2-9] optimizer steps", outcome.err)
    assert f"a new one instead of `{place}/weights`" in outcome.err
    assert "FileExistsError" not in outcome.err
    assert "confirmed" not in outcome.out


def test_names_are_those_of_files_of_data(run: Any, write: Callable[..., Any]) -> None:
    write("data/notes/readme.md", "Nothing.")
    write(
        "train.py",
        """
from glob import glob
from pathlib import Path

import numpy as np
import torch

assert glob("results/*.txt") == glob("data/logs/*.csv") == glob("data/notes/*.txt") == glob("data/train/*.pth") == []
paths = sorted(Path("data").glob("train/*.npy"))
assert len(paths) == 16 and all(path.suffix == ".npy" for path in paths)
assert np.load(paths[0]).ndim == 2
print("read", torch.zeros(1))
""",
    )
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "placeholder values" not in err
    assert "16 names of files instead of `data/train/*.npy` (data not found)" in err


@pytest.mark.parametrize("kind", ["Folder", "Classes"])
def test_a_folder_is_as_the_function_that_lists_it_takes_it(kind: str, run: Any, write: Callable[..., Any]) -> None:
    write("train.py", FLAT.replace("KIND", kind))
    err = run("scan", "train.py", "--probe", "--isolated").err
    how = "64 random pictures 256×256 instead" if kind == "Folder" else "512 random images 256×256, 2 classes instead"
    assert how in err, err
    assert "cannot be read" not in err
    assert re.search(r"reached \d+ optimizer steps", err)
