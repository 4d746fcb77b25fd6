"""Scripts of whose training nothing was understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, Report, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

INHERITED = """
import torch
from engine.base import Trainer
from helpers import meter


class Mine(Trainer):
    def step(self, batch):
        loss = self.criterion(self.model(batch["x"]), batch["y"])
        loss.backward()
        self.optimizer.step()
        meter(loss)


Mine().run()
"""
UNDERSTOOD = """
import torch
from loaders import train_loader
from models import build

model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in train_loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
LIGHTNING = """
import lightning as L
import torch
from loaders import rows
from nets import Net


class System(L.LightningModule):
    def training_step(self, batch, index):
        loss = self.net.loss(batch)
        self.manual_backward(loss)
        return loss


L.Trainer().fit(System(), rows)
"""


@pytest.fixture
def scanned(folder: Path) -> Callable[..., Report]:
    def run(codes: str = "TDR") -> Report:
        rules = tuple(rule for rule in all_rules() if rule.code.startswith(codes))
        return scan(Options(paths=(folder,), rules=rules))

    return run


def test_a_script_that_trains_out_of_sight_is_named_with_what_is_missing(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("train.py", INHERITED)
    said = "unresolved training loop in train.py:10: `meter` comes from helpers, which was not found"
    assert scanned().warnings == [said]
    write("train.py", INHERITED.replace("        meter(loss)\n", ""))
    said = "unresolved training loop in train.py:10: `Trainer` comes from engine.base, which was not found"
    assert scanned().warnings == [said]


GIVEN = """
import torch
from loaders import train_loader
from engine import Engine

def fit(engine, loader):
    for batch in loader:
        engine.compute(batch).backward()
        engine.step()

fit(Engine(), train_loader)
"""


@pytest.mark.parametrize(
    ("text", "row", "why"),
    [
        (GIVEN, 8, "`Engine` comes from engine, which was not found"),
        (
            "import torch\nfrom tools import *\n\nstate = begin()\nfor batch in state:\n    compute(batch).backward()\n",
            6,
            "`compute` comes from tools, which was not found",
        ),
        (
            "import sys\nimport torch\n\nthing = eval(sys.argv[1])\nfor _ in range(9):\n    thing.loss().backward()\n",
            6,
            "`thing` is returned by `eval`, whose result is unknown",
        ),
        (
            (
                "import hydra\nimport torch\n\n@hydra.main()\ndef main(cfg):\n    system = hydra.utils.instantiate(cfg.system)\n"
                "    for batch in system.loader():\n        loss = system.loss(batch)\n        loss.backward()\n\nmain()\n"
            ),
            9,
            "`system` is returned by `hydra.utils.instantiate`, whose result is unknown",
        ),
        (
            (
                "import torch\n\ndef train(state):\n    for batch in state:\n        loss = state.loss(batch)\n"
                "        loss.backward()\n\nprint(train)\n"
            ),
            6,
            "`loss` is computed from unknown values",
        ),
    ],
    ids=["given to a function", "all of a module", "eval", "a factory by its settings", "nobody calls it"],
)
def test_what_could_not_be_followed_is_named(
    text: str, row: int, why: str, write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("train.py", text)
    assert scanned().warnings == [f"unresolved training loop in train.py:{row}: {why}"]


def test_a_loop_in_an_imported_file_is_named_with_that_file(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write(
        "loop.py",
        "import torch\nfrom loaders import rows\n\ndef run(net):\n    for x in rows:\n        net.loss(x).backward()\n",
    )
    write("train.py", "import torch\nfrom loop import run\nfrom nets import Net\n\nrun(Net())\n")
    said = "unresolved training loop in train.py: in loop.py, `rows` comes from loaders, which was not found"
    assert scanned().warnings == [said]


@pytest.mark.parametrize(
    "text",
    [
        UNDERSTOOD,
        "import torch\nx = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)\n",
        INHERITED.replace("Mine().run()", ""),
        "import torch\nfrom video import player\n\nplayer.backward()\n",
        LIGHTNING,
        "import torch\nfrom nets import Net\n\nfor x in open('a'):\n    Net()(x).backward()\n    print(x.grad)\n",
    ],
    ids=[
        "its loader is unknown",
        "no model at all",
        "definitions for others",
        "nothing is repeated",
        "a framework trains",
        "gradients of an input",
    ],
)
def test_other_files_are_passed_over_in_silence(
    text: str, write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("train.py", text)
    assert scanned().warnings == []


def test_rules_that_read_no_backward_say_nothing_of_it(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("train.py", INHERITED)
    assert scanned("TDR603").warnings == []


def test_the_last_line_says_of_how_many_scripts_nothing_was_followed(
    write: Callable[..., Path], run: Callable[..., Outcome]
) -> None:
    write("train.py", INHERITED)
    write("other.py", "import torch\n")
    assert "No findings in 1 file (1 training loop unresolved). " in run("scan", "train.py").err
    assert "No findings in 2 files (1 training loop unresolved). " in run("scan").err
    write("other.py", "import torch\nfrom torch.autograd import Variable\nx = Variable(torch.ones(2), volatile=True)\n")
    assert " in 1 of 2 files (1 training loop unresolved)." in run("scan").err
