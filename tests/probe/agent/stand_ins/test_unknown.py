"""Modules that are not there: what is imported from them does what the script takes it for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

Run = Any  # arguments to outcome
Write = Any


@pytest.fixture
def probe(run: Run, write: Write) -> Callable[..., Any]:
    """Probes a script that is written first; gives what the command left behind."""

    def probed(script: str) -> Any:
        write("train.py", script)
        return run("scan", "train.py", "--probe", "--isolated")

    return probed


DATA = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(12, 3, 16, 16), torch.randint(0, 4, (12,))), batch_size=4, shuffle=True)
"""
TRAIN = """
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
"""


def test_a_model_a_loss_and_an_optimizer_that_are_not_there_train(probe: Callable[..., Any]) -> None:
    script = """
from their_models import build_model
from their_losses import FocalLoss
from their_optimizers import Lamb
model = build_model(num_classes=4)
criterion = FocalLoss(gamma=2)
optimizer = Lamb(model.parameters(), lr=0.1)
"""
    outcome = probe(DATA + script + TRAIN.format(loss="criterion(model(inputs), targets)"))
    assert "reached 3 optimizer steps" in outcome.err
    assert "a module whose output fits the script instead of `their_models.build_model`" in outcome.err


def test_a_model_that_is_given_to_a_class_of_the_script_is_one(probe: Callable[..., Any]) -> None:
    script = """
import their_models as tm

class Segmenter(nn.Module):
    def __init__(self, base, classes):
        super().__init__()
        self.base = base
        self.classes = classes

    def forward(self, inputs):
        return self.base(inputs)

net = tm.Unet("resnet34", classes=4)
model = Segmenter(classes=4, base=net)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
"""
    outcome = probe(DATA + script + TRAIN.format(loss="nn.functional.cross_entropy(model(inputs), targets)"))
    assert "reached 3 optimizer steps" in outcome.err, outcome.err


@pytest.mark.parametrize(
    "use",
    [
        "nn.functional.cross_entropy(model(their.augment(inputs)), targets)",
        "their.loss(model(inputs), targets)",
        "0.5 * their.losses.dice(model(inputs), targets) + nn.functional.cross_entropy(model(inputs), targets)",
        "nn.functional.cross_entropy(model(inputs), targets) + their.penalty(model)",
    ],
)
def test_a_function_that_is_not_there_returns_what_the_loss_needs(probe: Callable[..., Any], use: str) -> None:
    script = """
import their
model = nn.Sequential(nn.Flatten(), nn.Linear(768, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
    assert "reached 3 optimizer steps" in probe(DATA + script + TRAIN.format(loss=use)).err


@pytest.mark.parametrize("after", ["", ".mean((2, 3))", " + hidden"])
def test_a_layer_that_is_not_there_fits_between_its_neighbours(probe: Callable[..., Any], after: str) -> None:
    script = f"""
from their_layers import Attention, Base

class Net(Base):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.attention = Attention(8)
        self.last = nn.Linear(8, 4)

    def forward(self, inputs):
        hidden = self.first(inputs)
        hidden = self.attention(hidden){after}
        return self.last(hidden if hidden.dim() == 2 else hidden.mean((2, 3)))

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
    loss = "nn.functional.cross_entropy(model(inputs), targets)"
    assert "reached 3 optimizer steps" in probe(DATA + script + TRAIN.format(loss=loss)).err


def test_data_and_helpers_that_are_not_there_are_what_the_loop_takes(probe: Callable[..., Any]) -> None:
    script = """
import torch
from torch import nn
from their_helpers import *
loader, test_loader = get_loaders(batch_size=8)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.LazyLinear(10))
model(torch.randn(1, 3, 32, 32))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
meter = AverageMeter("loss")
set_seed(3)
for inputs, targets in loader:
    optimizer.zero_grad()
    output = model(inputs)
    loss = nn.functional.cross_entropy(output, targets)
    loss.backward()
    optimizer.step()
    top1, top5 = accuracy(output, targets, topk=(1, 5))
    meter.update(top1.item(), inputs.size(0))
    print(f"{meter.avg:.3f} {top5.item():.2f}")
"""
    assert "reached 6 optimizer steps" in probe(script).err


def test_a_stand_in_that_gets_the_model_leaves_every_verdict_open(probe: Callable[..., Any]) -> None:
    script = """
import their
model = nn.Linear(768, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
their.prepare(model, optimizer)
for inputs, targets in loader:
    nn.functional.cross_entropy(model(inputs.flatten(1)), targets).backward()
    optimizer.step()
"""
    outcome = probe(DATA + script)
    assert "confirmed" not in outcome.out
    assert "refuted" not in outcome.out


@pytest.mark.parametrize("script", ["pkg/inner/train.py", "tools/train.py"])
def test_a_script_finds_what_lies_in_its_project(run: Run, write: Write, script: str) -> None:
    write("pyproject.toml", "")
    write("common/__init__.py", "")
    write("common/nets.py", "from torch import nn\n\n\ndef build():\n    return nn.Linear(4, 2)\n")
    write("pkg/loss.py", "from torch import nn\nloss = nn.CrossEntropyLoss()\n")
    imports = "from ..loss import loss" if script.startswith("pkg") else "from pkg.loss import loss"
    write(
        script,
        f"""
import torch
from common.nets import build
{imports}
model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    optimizer.step()
""",
    )
    assert "reached 3 optimizer steps" in run("scan", script, "--probe", "--isolated").err


def test_a_name_that_an_installed_module_lacks_is_what_the_script_takes_it_for(probe: Callable[..., Any]) -> None:
    script = """
from dataclasses import dataclass
from torch.optim import Lamb

class Settings:
    __hash__ = None
    rate = 0.1

@dataclass
class Config:
    optimizer: Settings = Settings()

model = nn.Sequential(nn.Flatten(), nn.Linear(768, 4))
optimizer = Lamb(model.parameters(), lr=Config().optimizer.rate)
"""
    outcome = probe(DATA + script + TRAIN.format(loss="nn.functional.cross_entropy(model(inputs), targets)"))
    assert "reached 3 optimizer steps" in outcome.err
    assert "torch.optim has no Lamb in this version" in outcome.err


def test_a_class_that_asks_for_attributes_in_a_method_has_its_base(probe: Callable[..., Any]) -> None:
    script = """
from absent import data

class Rows(data.Rows):
    def has(self, one, name):
        return hasattr(one, name)

model = nn.Sequential(nn.Flatten(), nn.Linear(768, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
    outcome = probe(DATA + script + TRAIN.format(loss="nn.functional.cross_entropy(model(inputs), targets)"))
    assert "reached 3 optimizer steps" in outcome.err


@pytest.mark.parametrize("also", ["", "sim.eval()\n"])
def test_what_has_a_forward_need_not_be_a_module(probe: Callable[..., Any], also: str) -> None:
    script = "\nfrom their_physics import Simulator\nsim = Simulator('robot.xml')\nsim.forward()\n" + also
    model = "model = nn.Sequential(nn.Flatten(), nn.Linear(768, 4))\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    outcome = probe(DATA + script + model + TRAIN.format(loss="nn.functional.cross_entropy(model(inputs), targets)"))
    assert "reached 3 optimizer steps" in outcome.err
    assert "confirmed" not in outcome.out
    assert "refuted" not in outcome.out


def test_a_device_that_nobody_knows_moves_nothing(probe: Callable[..., Any]) -> None:
    err = probe("""
import torch
from torch import nn
from their_utils import device, get_device
from their_settings import settings
model = nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    inputs = torch.randn(8, 4, device=settings.device).to(get_device(), non_blocking=True)
    targets = torch.randint(2, (8,)).cuda(settings.device)
    assert inputs.to(device, torch.float64).dtype == torch.float64
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
""").err
    assert "reached 3 optimizer steps" in err
    assert "instrument failed" not in err
    assert "none instead of `a device` (device not known)" in err


def test_what_a_loop_takes_apart_is_no_tensor(probe: Callable[..., Any]) -> None:
    script = """
import numpy as np
from sklearn.model_selection import StratifiedKFold
from torch.utils.data import Subset

rows = TensorDataset(torch.randn(40, 4), torch.randint(0, 2, (40,)))
folds = StratifiedKFold(n_splits=4).split(np.zeros(40), rows.tensors[1].numpy())
for fold, (train_rows, other_rows) in enumerate(folds):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Subset(rows, train_rows), batch_size=8)
"""
    training = TRAIN.format(loss="nn.functional.cross_entropy(model(inputs), targets)").replace("\n", "\n    ")
    err = probe(DATA + script + training).err
    assert "cannot unpack" not in err
    assert "fails:" not in err
