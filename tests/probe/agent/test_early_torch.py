"""Scripts of early torch and of Python 2: the former run, the latter are named."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.agent.rewriting.early_torch import parsed

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("x.cuda(async=True)", "x.cuda(          )"),
        ("x.cuda(0, async=True)", "x.cuda(0            )"),
        ("x.cuda(async = flag, device=0)", "x.cuda(              device=0)"),
        ("x.cuda(0, async=args.fast, dtype=d)", "x.cuda(0,                  dtype=d)"),
    ],
)
def test_the_argument_is_left_out_and_all_else_stays_in_its_place(written: str, read: str) -> None:
    tree, text = parsed(written, "train.py")
    assert text == read
    assert len(text) == len(written)
    assert ast.dump(tree) == ast.dump(ast.parse(read))


def test_other_errors_stay_errors() -> None:
    with pytest.raises(SyntaxError):
        parsed("x.cuda(async=True\n", "train.py")
    assert parsed("async def f(): ...\n", "train.py")[1] == "async def f(): ...\n"


TRAIN = """
import torch
from torch import nn
from moves import moved
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(moved(torch.randn(16, 4))), torch.randn(16, 1)).backward()
    optimizer.step()
"""


@pytest.mark.usefixtures("farm", "records")
def test_a_module_of_early_torch_runs(run: Any, write: Callable[..., Any]) -> None:
    write("moves.py", "def moved(batch):\n    return batch.cuda(async=True)\n")
    write("train.py", TRAIN)
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "reached 3 optimizer steps" in err
    assert err.count("`async=` is left out") == 1
    assert "instrument failed" not in err


@pytest.mark.usefixtures("farm", "records")
def test_a_module_of_python_2_is_named(run: Any, write: Callable[..., Any]) -> None:
    write("moves.py", "def moved(batch):\n    print 'moved'\n    return batch\n")
    write("train.py", TRAIN)
    err = run("scan", "train.py", "--probe", "--isolated", "--no-cache").err
    assert "train.py needs Python 2 and cannot run with Python 3." in err
    assert "fails" not in err
