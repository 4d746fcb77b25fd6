"""`trace --shapes`: the shapes of variables next to the source, and those of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

MODEL = """\
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        return q
"""
TRAINING = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows, labels in loader:
    scores = model(rows)
    loss = nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def shapes(run: Run, *arguments: str) -> dict[str, str]:
    """The text behind each variable's name."""
    outcome = run("trace", "--shapes", *arguments)
    assert outcome.status == 0, outcome.err
    rows = [row.rpartition("  ")[2] if "run: " not in row else row for row in outcome.out.splitlines()[1:]]
    found = [row.strip().partition(": ") for row in rows]
    return {name.split()[-1]: text for name, _, text in found}


def test_sizes_have_the_names_of_the_script(run: Run, write: Callable[..., Path]) -> None:
    write("model.py", MODEL)
    assert shapes(run, "model.py") == dict.fromkeys("kv", "[b, t, dim] float") | {
        "q": "[b, heads, t, dim // heads] float"
    }


def test_each_line_stands_beside_its_shapes(run: Run, write: Callable[..., Path]) -> None:
    write("model.py", MODEL)
    first, *rows = run("trace", "--shapes", "model.py").out.splitlines()
    assert first == "model.py"
    assert rows[0].split("  ")[0] == "12"
    assert "q, k, v = self.qkv(x).chunk(3, dim=-1)" in rows[0]


def test_what_a_loader_gives_has_the_size_of_the_batch(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TRAINING)
    assert shapes(run, "train.py") == {
        "rows": "[batch, 6] float32",
        "labels": "[batch] int64",
        "scores": "[batch, 3] float32",
        "loss": "[] float",
    }


def test_the_shapes_of_a_run_stand_beside_those_of_the_source(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TRAINING)
    out = run("trace", "--shapes", "--probe", "train.py", "--device", "cpu").out
    assert "scores: [batch, 3] float32  run: [8, 3] float32" in out
    assert "labels: [batch] int64  run: [8] int64" in out


def test_the_run_tells_shapes_that_the_source_does_not_show(run: Run, write: Callable[..., Path]) -> None:
    write("made.py", "def made():\n    return getattr(__import__('torch'), 'ones')(3, 2)\n")
    write("train.py", f"from made import made\n{TRAINING}total = made() if loss > -1 else None\ntotal += 1\n")
    assert "total: run: [3, 2] float32" in run("trace", "--shapes", "--probe", "train.py", "--device", "cpu").out


def test_shapes_for_programs(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TRAINING)
    found = run("trace", "--shapes", "train.py", "--output-format", "json").json
    (scores,) = (each for each in found if each["name"] == "scores")
    assert scores["axes"] == ["batch", "3"]
    assert (scores["row"], scores["column"], scores["dtype"], scores["observed"]) == (10, 5, "float32", False)


def test_a_file_without_tensors_says_so(run: Run, write: Callable[..., Path]) -> None:
    write("plain.py", "x = 1\n")
    outcome = run("trace", "--shapes", "plain.py")
    assert (outcome.status, outcome.out) == (0, "")
    assert "no variable whose axes are known" in outcome.err


def test_a_trace_without_the_option_is_as_it_was(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TRAINING)
    (trace,) = run("trace", "train.py", "--output-format", "json").json
    assert "Shaped" not in {event["event"] for event in trace["events"]}
