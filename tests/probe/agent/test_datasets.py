"""What is watched of datasets leaves the libraries as they are."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import TensorDataset

from torch_doctor.probe.agent.watching.data.datasets import is_drawn, is_referable
from torch_doctor.probe.agent.watching.data.shared_rows import SharedRows

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")


def test_a_class_that_draws_stays_a_class(run: Any, write: Callable[..., Any]) -> None:
    script = """
import pickle
import torch
import numpy as np
either = np.random.Generator | np.random.RandomState
state = np.random.RandomState(3)
assert isinstance(state, np.random.RandomState) and isinstance(state, either)
assert isinstance(np.random.mtrand._rand, np.random.RandomState)
assert not isinstance(3, np.random.RandomState)
assert pickle.loads(pickle.dumps(state)).randint(9) == state.randint(9)

class Own(np.random.RandomState):
    pass

assert isinstance(Own(3), Own) and not isinstance(state, Own)
"""
    write("train.py", script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "fails" not in outcome.err, outcome.err


class Shifted:
    """Reads its index after it stored something else on the same line: one instruction from Python 3.13 on."""

    rows = (1, 2)

    def __getitem__(self, index: int) -> list[int]:
        return [index + row for row in self.rows]


class Drawn:
    """Sets its index before it reads it."""

    def __getitem__(self, index: int) -> int:
        index = random.randrange(9)  # noqa: S311 - no secret
        return index + 1


def test_a_row_is_drawn_where_the_index_is_not_read_before_it_is_set() -> None:
    assert not is_drawn(Shifted())
    assert is_drawn(Drawn())


def test_what_has_weak_references_is_told_from_what_has_none() -> None:
    assert is_referable(Drawn())
    assert not is_referable([])


def test_a_part_of_rows_that_cannot_be_read_is_told_of(run: Any, write: Callable[..., Any]) -> None:
    script = """
import pickle
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset

with open("rows.pkl", "rb") as file:
    rows = pickle.load(file)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Subset(rows, range(40)), batch_size=8, shuffle=True):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    write("train.py", script)
    outcome = run("scan", "train.py", "--probe", "--isolated", "-v")
    assert "an instrument failed" not in outcome.err, outcome.err


def test_modules_with_a_hash_of_their_own_and_compiled_functions_work(run: Any, write: Callable[..., Any]) -> None:
    write(
        "own.py",
        """
import torch

def doubled(value: torch.Tensor):
    return 2 * value

@torch.jit.script
def compiled(value: torch.Tensor):
    return doubled(value)

@torch.jit.script
class Compiled:
    def __init__(self, value: torch.Tensor):
        self.value = doubled(value)
""",
    )
    script = """
import torch
from own import compiled

class Metric(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.defaults = ("sum",)

    def __hash__(self):
        return hash(self.defaults)

    def forward(self, value):
        return compiled(value).sum()

Metric()(torch.ones(3))
"""
    write("train.py", script)
    assert "fails" not in run("scan", "train.py", "--probe", "--isolated").err


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_equal_rows_are_found_without_numpy(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    def missing(_: torch.Tensor) -> None:
        message = "Numpy is not available"
        raise RuntimeError(message)

    monkeypatch.setattr(torch.Tensor, "numpy", missing)
    rows = torch.randn(8, 6).to(dtype)
    train, other, test = (TensorDataset(each) for each in (rows, torch.randn(8, 6).to(dtype), rows[2:].clone()))
    shared = SharedRows(torch)
    assert [shared.of(number, each) for number, each in enumerate((train, other, test))] == [{}, {}, {0: 1.0}]


GIVEN_ONCE = """
import tempfile
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
    file.writelines(f"{number} 1 2 3 {number % 2}\\n" for number in range(32))
path = file.name

class Lines(Dataset):
    def __init__(self):
        self.file = open(path) if {is_file} else None
        self.waiting = [(torch.randn(4), number % 2) for number in range(32)]
        self.read = []

    def __len__(self):
        return 32

    def __getitem__(self, number):
        return {row}

rows = Lines()
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
count = 0
for x, y in DataLoader(rows, batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    count += len(x)
    assert len(rows.read) in (0, count), rows.read
"""
ROWS = {
    "a list": "self.waiting.pop()",
    "a file": "(lambda each: (torch.tensor([float(part) for part in each[:4]]), int(each[4])))(self.file.readline().split())",
    "a record of what was read": "(self.read.append(number), self.waiting[number])[1]",
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_nothing_is_taken_from_a_dataset(run: Any, write: Callable[..., Any], row: str) -> None:
    write("train.py", GIVEN_ONCE.replace("{row}", row).replace("{is_file}", str("file" in row)))
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "fails" not in outcome.err, outcome.err
    assert "reached 0" not in outcome.err, outcome.err
