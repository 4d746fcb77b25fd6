"""Folders that a script asks for, lists, and finds empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

IMAGES = """
import glob
import os

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Folder(Dataset):
    def __init__(self, root):
        self.root, self.files = root, {listing}

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        try:
            image = Image.open(os.path.join(self.root, self.files[index])).convert("RGB").resize((8, 8))
        except Exception:
            return self.__getitem__(index + 1)
        return torch.from_numpy(np.array(image)).float().flatten(), index % 2


model = nn.Linear(192, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in DataLoader(Folder({root!r}), batch_size=4, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
"""


@pytest.fixture
def probe(run: Any, write: Callable[..., Any]) -> Callable[..., str]:
    """What is told of a script next to these files, which are empty."""
    pytest.importorskip("PIL")

    def probed(script: str, *files: str) -> str:
        for name in files:
            write(name, "")
        write("train.py", script)
        return str(run("scan", "train.py", "--probe", "--isolated").err)

    return probed


@pytest.mark.parametrize(
    ("root", "listing"),
    [
        ("pokemon", "sorted(os.listdir(root))"),
        ("input", "[name for name in os.listdir(root) if name.endswith('.png')]"),
        ("input", "[name for name in os.listdir(root) if name.lower().endswith(('tif', 'bmp'))]"),
        ("frames", "[os.path.basename(name) for name in glob.glob(root + '/*.pgm')]"),
    ],
)
@pytest.mark.parametrize("there", [False, True])
def test_an_empty_folder_of_data_is_filled_with_what_is_asked_for(
    probe: Callable[..., str], root: str, listing: str, there: bool
) -> None:
    err = probe(IMAGES.format(root=root, listing=listing), *([f"{root}/.gitkeep"] if there else []))
    assert "reached 6 optimizer steps" in err
    assert f"64 random pictures 256×256 instead of `{root}` (data not found)" in err
    assert "Recursion" not in err


def test_folders_of_classes_that_are_empty_are_filled(probe: Callable[..., str]) -> None:
    pytest.importorskip("torchvision")
    script = """
import torch
from torchvision import datasets, transforms
shape = transforms.Compose([transforms.Resize((8, 8)), transforms.ToTensor()])
data = datasets.ImageFolder("animals", shape)
assert data.classes == ["cat", "cow", "dog"], data.classes
assert datasets.ImageFolder("plants", shape).classes == ["class_00", "class_01"]
print(data[0][0].shape)
"""
    err = probe(script, *(f"animals/{name}/.gitkeep" for name in ("cat", "cow", "dog")), "plants/.gitkeep")
    assert "fails" not in err
    assert "510 random images 256×256, 3 classes instead of `ImageFolder('animals')`" in err


def test_folders_for_output_stay_empty(probe: Callable[..., str]) -> None:
    script = """
import glob, os
import torch
from PIL import Image
def numbered(folder):
    return len(os.listdir(folder))
os.makedirs("runs")
assert numbered("runs") == 0 and numbered("checkpoints") == 1
assert glob.glob("runs/*") == []
print(Image, torch.zeros(1))
"""
    err = probe(script, "checkpoints/.gitkeep")
    assert "fails" not in err
    assert "instead of" not in err


def test_a_folder_that_is_asked_for_gives_way_to_the_file_that_is_read(probe: Callable[..., str]) -> None:
    script = """
import os
import torch
def read(path):
    with open(path) as file:
        return [line.split() for line in file]
for place in ("corpus", "words"):
    if not os.path.exists(place):
        raise ValueError(place)
assert os.path.isdir("words")
print(torch.zeros(len(read("corpus"))))
"""
    err = probe(script)
    assert "fails" not in err
    assert "2000 lines of synthetic text instead of `corpus` (file not found)" in err or "an empty folder" in err


def test_an_error_of_a_dataset_whose_files_are_there_is_its_own(probe: Callable[..., str]) -> None:
    script = IMAGES.format(root="input", listing="['a', 'b', 'c', 'd']").replace("except Exception", "except KeyError")
    assert "train.py fails" in probe(script.replace("Image.open(", "Image.missing("))


def test_nothing_is_at_the_empty_path(probe: Callable[..., str]) -> None:
    script = """
import os
import pathlib
import numpy as np
import torch
np.savetxt("loss.csv", np.ones(3))
np.save("loss.npy", np.ones(3))
assert np.loadtxt("loss.csv").sum() == np.load("loss.npy").sum() == 3
assert not any(ask("") for ask in (os.path.exists, os.path.isfile, os.path.isdir, os.path.lexists))
assert not os.access("", os.R_OK)
assert pathlib.Path("").exists()
for function in (os.stat, os.listdir, os.remove, os.makedirs, os.rmdir, open):
    try:
        function("")
    except FileNotFoundError:
        continue
    raise RuntimeError(function)
print(torch.zeros(1))
"""
    assert "fails" not in probe(script)
