"""What is called `torch` is torch, wherever its sources lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static.imports import Imports
from torch_doctor.trace import ModuleBuilt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

SCRIPT = """
import torch
from torch import nn
from torch.nn.modules.linear import Linear

model = nn.Sequential(Linear(4, 2), nn.Dropout(0.5))
"""
OWN = """
import torch
from .. import functional as F
from .module import Module


class Twice(Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return F.dropout(x)


Twice()
"""


def imports_of(folder: Path) -> Imports:
    """The imports of a project in a folder."""
    return Imports(Project(folder, Ignores(frozenset({folder}))))


@pytest.fixture
def torch_beside(write: Write, folder: Path) -> Path:
    """A project with a copy of some of torch's sources; nothing of them can be executed."""
    write("pyproject.toml", "")
    for package in ("", "nn/", "nn/modules/", "autograd/"):
        write(f"torch/{package}__init__.py", "from .never import *\nraise RuntimeError\n")
    write("torch/nn/modules/linear.py", "from .module import Module\n\n\nclass Linear(Module):\n    pass\n")
    write("torch/nn/modules/module.py", "class Module:\n    pass\n")
    return folder / "torch"


@pytest.mark.parametrize("script", ["train.py", "scripts/deep/train.py", "torch/nn/utils/train.py"])
def test_no_source_of_torch_is_executed_for_an_import(script: str, torch_beside: Path, write: Write) -> None:
    (found, *_), _ = traces(Options(paths=(write(script, SCRIPT),), rules=()))
    assert [built.class_name for built in found.of(ModuleBuilt)][:2] == ["torch.nn.Linear", "torch.nn.Dropout"]
    assert found.depends is not None
    assert not any(str(torch_beside / "__init__.py") == path for path in found.depends.read)


def test_relative_imports_within_torch_mean_torch(torch_beside: Path, write: Write) -> None:
    (found, *_), _ = traces(Options(paths=(write("torch/nn/modules/twice.py", OWN),), rules=()))
    assert torch_beside.is_dir()
    assert [built.class_name for built in found.of(ModuleBuilt)] == ["Twice"]
    assert [built.base_initialised for built in found.of(ModuleBuilt)] == [True]


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_a_package_of_a_project_may_have_the_name_of_a_library(name: str, folder: Path, write: Write) -> None:
    script = write(f"own/{name}/train.py", "from .nets import Net\n")
    write(f"own/{name}/__init__.py", "")
    nets = write(f"own/{name}/nets.py", "")
    assert imports_of(folder).find(script, "nets", 1) == nets


def test_a_module_of_a_project_may_be_called_transformers(folder: Path, write: Write) -> None:
    script, own = write("train.py", ""), write("transformers.py", "")
    assert imports_of(folder).find(script, "transformers") == own


@pytest.mark.parametrize("home", ["", "src/", "vendor/"])
def test_a_copy_of_transformers_means_the_library(home: str, folder: Path, write: Write) -> None:
    script = write(f"{'' if home == 'src/' else home}train.py", "")
    write(f"{home}transformers/__init__.py", "")
    write(f"{home}transformers/modeling_utils.py", "")
    assert imports_of(folder).find(script, "transformers.modeling_utils") is None


def test_a_file_of_the_project_that_has_torchs_name_is_never_meant(folder: Path, write: Write) -> None:
    script = write("train.py", "")
    write("torch.py", "")
    assert imports_of(folder).find(script, "torch") is None


def test_libraries_in_site_packages_mean_installed_ones_to_each_other(folder: Path, write: Write) -> None:
    write("site/one-1.0.dist-info/METADATA", "")
    one, other = write("site/one/__init__.py", ""), write("site/other/__init__.py", "")
    part = write("site/one/part.py", "")
    imports = imports_of(folder)
    assert imports.find(other, "one.part") is None
    assert imports.find(part, "other") is None
    assert imports.find(one, "one.part") == part
    assert imports.find(one, "part", 1) == part


def test_a_library_whose_use_is_described_is_one_for_its_examples_alone(folder: Path, write: Write) -> None:
    example = write("examples/train.py", "")
    write("src/diffusers/pipelines/__init__.py", "")
    package = write("src/diffusers/__init__.py", "")
    part, other = write("src/diffusers/part.py", ""), write("src/diffusers/other.py", "")
    imports = imports_of(folder)
    assert imports.find(example, "diffusers") is None
    assert imports.find(part, "diffusers") == package
    assert imports.find(part, "other", 1) == other
