"""Pictures that are no squares: a model that takes nothing else gets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

SCRIPT = """
import os
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
{sizes}

class Frames(Dataset):
    def __init__(self):
        self.files = os.listdir("frames")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = Image.open(os.path.join("frames", self.files[index])).convert("RGB")
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255, index % 2

model = nn.Sequential(nn.Conv2d(3, 4, 4, 4), nn.Flatten(), nn.Linear(4 * {features}, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in DataLoader(Frames(), batch_size=4, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("sizes", "features", "found"),
    [
        ("", "30 * 40", "4×3×120×160"),
        ("height, width = 44, 92", "11 * 23", "4×3×44×92"),
        ("input_size = (92, 44)", "11 * 23", "4×3×"),
        ("", "64 * 64", "64 random pictures"),
    ],
)
def test_a_model_of_rectangles_gets_them(
    run: Any, write: Callable[..., Any], sizes: str, features: str, found: str
) -> None:
    pytest.importorskip("PIL")
    write("train.py", SCRIPT.format(sizes=sizes, features=features))
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 6 optimizer steps" in err
    assert found in err
