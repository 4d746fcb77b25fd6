"""What newer versions have no more works as it did, in the user's code alone, and is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

GONE = """
import collections
import inspect
import time
from collections import Iterable
from distutils.version import LooseVersion
import numpy as np
import torch
from torch import nn
from torch._six import string_classes
from torch.utils.data import DataLoader, TensorDataset

assert isinstance([], Iterable) and isinstance("", string_classes) and time.clock() >= 0
assert inspect.getargspec(lambda a, b=1: None).args == ["a", "b"]
assert LooseVersion("1.10.1") > LooseVersion("1.9") and LooseVersion(torch.__version__) >= "1.0"
assert np.zeros(3, dtype=np.int).dtype == int and np.float(3) == 3.0 and np.NaN != np.NaN
assert np.alltrue([1, 1]) and np.product([2, 3]) == 6
matrix = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
values, vectors = torch.symeig(matrix, eigenvectors=True)
assert torch.allclose(vectors @ values.diag() @ vectors.T, matrix, atol=1e-5)
assert torch.allclose(torch.solve(matrix, matrix)[0], torch.eye(2), atol=1e-5)
signal = torch.randn(4, 8)
assert torch.allclose(torch.irfft(torch.rfft(signal, 1), 1, signal_sizes=(8,)), signal, atol=1e-5)
assert (1 - (matrix > 1.5)).tolist() == [[0, 1], [1, 0]]
loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
inputs, targets = iter(loader).next()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, verbose=True)
total = 0
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    total += loss.data[0]
    total += loss.data.numpy()[0]
assert isinstance(total, float)
try:
    torch.tensor([])[0]
except IndexError:
    print("an empty tensor has no first element")
else:
    raise AssertionError
"""


def test_names_functions_and_tensors_work_as_they_did(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", GONE)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "reached 4 optimizer steps" in err
    assert "fails" not in err
    for told in ("int instead of `numpy.int`", "next(iterator) instead of `iterator.next()`", "`[0] of a number`"):
        assert told in err
    assert err.count("(removed from this version: ") > 1


def test_code_that_is_not_the_users_finds_what_there_is(run: Any, write: Callable[..., Any]) -> None:
    write("site-packages/library.py", "import numpy\nHAS_INT = hasattr(numpy, 'int')\n")
    script = "import sys, torch\nsys.path.append('site-packages')\nimport library\nassert not library.HAS_INT\n"
    write("train.py", script)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "removed" not in err


SETTINGS = """
import torch
import yaml

with open(".\\\\settings\\\\small.yaml") as file:
    settings = yaml.load(file)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=settings["rate"])
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
"""


def test_yaml_needs_no_loader_and_paths_may_be_those_of_windows(run: Any, write: Callable[..., Any]) -> None:
    pytest.importorskip("yaml")
    write("settings/small.yaml", "rate: 0.1\n")
    write("train.py", SETTINGS)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "reached 3 optimizer steps" in err
    why = "(removed from this version: an error without the probe)"
    assert f"yaml.FullLoader instead of `yaml.load without a loader` {why}" in err


FABRIC = """
class Fabric:
    def __init__(self, *, accelerator="auto", strategy="auto", devices="auto"):
        if (accelerator, strategy, devices) != ("cpu", "auto", 1):
            raise RuntimeError("`CUDAAccelerator` can not run on your system since the accelerator is not available.")
"""
TRAINS = """
import torch
from lightning import Fabric

fabric = Fabric(accelerator="cuda", devices=4, strategy="fsdp")
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="where there is a GPU, Fabric gets it")
def test_fabric_that_wants_a_gpu_gets_the_cpu(run: Any, write: Callable[..., Any]) -> None:
    write("lightning/__init__.py", "from lightning.fabric.fabric import Fabric\n")
    write("lightning/fabric/__init__.py", "")
    write("lightning/fabric/fabric.py", FABRIC)
    write("train.py", TRAINS)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "reached 3 optimizer steps" in err
    assert "the CPU instead of `Fabric(accelerator='cuda')` (a GPU)" in err


TABLES = """
import pandas as pd
import torch
table = pd.DataFrame(index=["loss", "score"], columns=["total", "counts"])
for column in table.columns:
    table[column].values[:] = 0
table.total["loss"] += 3.0
table["counts"]["loss"] += 2
assert table.total["loss"] / table.counts["loss"] == 1.5 and table.total["score"] == 0
longer = pd.DataFrame({"a": [1]}).append({"a": 2}, ignore_index=True)
assert longer.a.tolist() == [1, 2] and [name for name, _ in longer.iteritems()] == ["a"]
print(torch.zeros(1))
"""
CROPS = """
import albumentations as A
import numpy as np
import torch
crops = [A.RandomResizedCrop(height=8, width=8, scale=(0.5, 1.0)), A.RandomSizedCrop((4, 8), 8, 8), A.Flip(p=0.5)]
picture = A.Compose(crops)(image=np.zeros((16, 16, 3), dtype=np.uint8))["image"]
assert picture.shape == (8, 8, 3)
print(torch.zeros(1))
"""
METRICS = """
import torch
import torchmetrics
scores, labels = torch.tensor([[0.9, 0.1, 0.0], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]]), torch.tensor([0, 2, 1, 1])
accuracy, both = torchmetrics.Accuracy(), torchmetrics.Accuracy()
assert accuracy(scores, labels) == 0.75
accuracy.update(scores, torch.tensor([0, 2, 1, 0]))
assert accuracy.compute() == 0.875
accuracy.reset()
assert accuracy(scores, labels) == 0.75
parts = torchmetrics.MetricCollection([torchmetrics.Accuracy(num_classes=3), torchmetrics.F1Score(num_classes=3)])
assert set(parts(scores, labels)) == {"MulticlassAccuracy", "MulticlassF1Score"}
both.update(torch.tensor([0.9, 0.2]), torch.tensor([1, 0]))
assert both.compute() == 1
"""
HPARAMS = """
import argparse
import pytorch_lightning as pl
import torch
class Net(pl.LightningModule):
    def __init__(self, hparams):
        super().__init__()
        self.hparams = hparams
        self.layer = torch.nn.Linear(4, self.hparams.size)
assert Net(argparse.Namespace(size=3)).hparams.size == 3
"""
COMPOSED = """
import hydra
import torch
@hydra.main(config_path="conf/config.yaml")
def main(cfg):
    assert torch.zeros(cfg.size).numel() == 4
main()
"""
SCRIPTS = {
    "pandas": TABLES,
    "albumentations": CROPS,
    "torchmetrics": METRICS,
    "pytorch_lightning": HPARAMS,
    "hydra": COMPOSED,
}


@pytest.mark.parametrize(("package", "script"), SCRIPTS.items(), ids=SCRIPTS)
def test_what_a_package_had_works_as_it_did(run: Any, write: Callable[..., Any], package: str, script: str) -> None:
    pytest.importorskip(package)
    write("conf/config.yaml", "size: 4\n")
    write("train.py", script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "fails" not in outcome.err, outcome.err
    assert "removed from this version" in outcome.err
