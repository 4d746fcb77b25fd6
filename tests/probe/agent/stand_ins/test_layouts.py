"""Trees of folders in the documentation, by which folders are filled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.agent.stand_ins.layouts import within

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DRAWN = """# Data
Put it so:

```
data/pets
├── train
│   ├── cats
│   │   ├── 0001.png
│   │   └── ...
│   └── dogs/   # all of them
└── val
```

- a list
- no tree
"""
PLAIN = """    dataset/
      |-- images/
      |   |-- <name>.png
      |-- labels.csv
      `-- masks
"""


@pytest.mark.parametrize(
    ("text", "path", "names"),
    [
        (DRAWN, "/home/me/data/pets", ["train", "val"]),
        (DRAWN, "data/pets/train", ["cats", "dogs"]),
        (DRAWN, "data/pets/train/cats", ["0001.png"]),
        (DRAWN, "data/pets/val", []),
        (DRAWN, "data/others", []),
        (PLAIN, "./dataset", ["images", "labels.csv", "masks"]),
        (PLAIN, "./dataset/images", []),
        ("```\npython train.py\n```\n", "data", []),
    ],
)
def test_the_names_in_a_folder_are_those_that_are_drawn(
    write: Callable[..., Path], text: str, path: str, names: list[str]
) -> None:
    folder = write("README.md", text).parent
    sources: Any = SimpleNamespace(project=str(folder))
    assert within(sources, path) == names


@pytest.mark.usefixtures("farm", "records")
def test_classes_are_those_that_are_drawn(run: Callable[..., Any], write: Callable[..., Any]) -> None:
    write("README.md", DRAWN)
    write(
        "train.py",
        """
import os
import torch
from PIL import Image
NUMBERS = {"cats": 0, "dogs": 1}
for entry in os.scandir("data/pets/train"):
    if entry.is_dir():
        for name in os.listdir(entry.path):
            label = NUMBERS[entry.name]
            size = Image.open(os.path.join(entry.path, name)).size
print("read", size, torch.zeros(1))
""",
    )
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "2 classes instead of `folder('data/pets/train')`" in outcome.err
    assert "fails" not in outcome.err
