"""A scan reads the libraries of the environment that is named, and of no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Environment, Options, scan, traces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIBRARY = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width, rate=0.0):
        super().__init__()
        self.drop = nn.Dropout(rate)
        self.fc = nn.Linear(width, 2)

    def forward(self, x):
        return {ending}

class Layer(nn.Module):
    def message(self, x):
        return x
"""
SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import nets_lib

rows = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
model = {model}
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(rows, batch_size=8, shuffle=True):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
correct = 0
with torch.no_grad():
    for x, y in DataLoader(rows, batch_size=8):
        correct += (model(x).argmax(1) == y).sum().item()
print(correct)
"""


@pytest.fixture
def codes(write: Callable[..., Path], environment: Path) -> Callable[..., list[str]]:
    """Scans a script with this model, and gives the codes of the findings."""

    def found(model: str, *, installed: bool = True) -> list[str]:
        path = write("script/train.py", SCRIPT.format(model=model))
        python = Environment(str(environment)) if installed else None
        report = scan(Options(paths=(path,), rules=tuple(all_rules()), environment=python))
        assert report.errors == []
        return sorted(finding.code for finding in report.findings if finding.code in ("TDR201", "TDR302", "TDR401"))

    return found


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("nets_lib.Net(8, rate=0.5)", ["TDR401"]),
        ("nets_lib.Net(8, 0.5)", ["TDR401"]),
        ("nets_lib.Net(8)", []),
        ("nets_lib.Net(8, rate=torch.rand(1).item())", []),
    ],
)
def test_the_arguments_of_a_call_decide_whether_a_model_cares(
    install: Callable[..., None], codes: Callable[..., list[str]], model: str, found: list[str]
) -> None:
    install("nets_lib/deep.py", LIBRARY.format(ending="self.fc(self.drop(x))"))
    install("nets_lib/__init__.py", "from .deep import *\n")
    assert codes(model) == found


def test_what_a_model_ends_with_meets_the_loss(install: Callable[..., None], codes: Callable[..., list[str]]) -> None:
    install("nets_lib/deep.py", LIBRARY.format(ending="self.fc(x).softmax(dim=1)"))
    install("nets_lib/__init__.py", "from .deep import *\n")
    assert codes("nets_lib.Net(8)") == ["TDR201"]


def test_without_an_environment_nothing_is_known_of_it(
    install: Callable[..., None], codes: Callable[..., list[str]]
) -> None:
    install("nets_lib/__init__.py", LIBRARY.format(ending="self.fc(x).softmax(dim=1)"))
    assert codes("nets_lib.Net(8, rate=0.5)", installed=False) == []


def test_a_class_of_the_project_that_derives_from_an_installed_module_is_one(
    install: Callable[..., None], codes: Callable[..., list[str]]
) -> None:
    install("nets_lib/__init__.py", LIBRARY.format(ending="self.fc(x)"))
    own = "nets_lib.Layer):\n    def __init__(self):\n        self.fc = nn.Linear(8, 2)\n"
    assert codes(f"None\nclass Own({own}\nmodel = Own()") == ["TDR302"]
    assert codes(f"None\nclass Own({own}\nmodel = Own()", installed=False) == []


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_a_run_depends_on_the_versions_of_the_libraries_that_it_asked_about(
    write: Callable[..., Path], environment: Path, install: Callable[..., None], version: str
) -> None:
    def depends(model: str) -> set[tuple[str, str]]:
        path = write("script/train.py", SCRIPT.format(model=model))
        found, _ = traces(Options(paths=(path,), rules=(), environment=Environment(str(environment))))
        told = found[0].depends
        assert told is not None
        return set(told.installed)

    install("other_lib/__init__.py", LIBRARY.format(ending="self.fc(x)"), version)
    install("nets_lib/__init__.py", "from other_lib import Net\n", "0.1")
    assert depends("nets_lib.Net(8)") == {("nets_lib", "0.1"), ("other_lib", version)}
    assert depends("nn.Linear(8, 2)") == set()
    assert depends("None\nimport absent_lib\nmodel = absent_lib.Net(8)") == {("absent_lib", "absent")}
