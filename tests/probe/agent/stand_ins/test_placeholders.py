"""Placeholders that scripts go on with: silent classes, vectors of words, texts and columns of unknown files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

TRAIN = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(16, 4)), torch.arange(16) % 2).backward()
    optimizer.step()
"""
SCRIPTS = {
    "a class of a tracker": (
        """
from abc import ABC
from clearml import Logger, Task
task = Task.init(project_name="words", task_name="a")
task.connect({"lr": 0.1})
Logger.current_logger().report_scalar("loss", "train", value=1.0, iteration=0)
class Own(ABC, Logger):
    pass
assert not hasattr(Own, "missing")
""",
        "calls that log nothing instead of `clearml`",
    ),
    "vectors of words": (
        """
from torch import nn
from torchtext.data import Field
words = Field(sequential=True)
words.build_vocab(["a b"], vectors="glove.6B.300d")
embedding = nn.Embedding(10, 4)
embedding.weight = nn.Parameter(words.vocab.vectors, requires_grad=False)
assert embedding.weight.shape == (10, 4)
""",
        "the initial weights instead of `Embedding.weight`",
    ),
    "a text without a suffix": (
        """
import argparse
def read(path):
    text = open(path).read()
    return text, len(text)
parser = argparse.ArgumentParser()
parser.add_argument("filename")
assert read(parser.parse_args().filename)[1] > 1_000
""",
        "2000 lines of synthetic text instead of `torch-doctor/filename`",
    ),
}


@pytest.mark.parametrize(("script", "said"), SCRIPTS.values(), ids=list(SCRIPTS))
def test_the_script_goes_on(run: Any, write: Callable[..., Any], script: str, said: str) -> None:
    write("train.py", script + TRAIN)
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
    assert said in err
    assert "fails" not in err


def test_a_bar_of_a_notebook_that_cannot_be_drawn_is_none(run: Any, write: Callable[..., Any]) -> None:
    pytest.importorskip("tqdm")
    write("ipywidgets.py", "raise ImportError('not here')")
    bars = "from tqdm import tqdm_notebook, tnrange\nassert [*tqdm_notebook([1, 2])] == [1, 2] and [*tnrange(2)] == [0, 1]\n"
    write("train.py", bars + TRAIN)
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
