"""Findings to report, in sources that have what is hard to show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from torch_doctor import cli
from torch_doctor.edits import Change, Proposal
from torch_doctor.report.reported import Reported
from torch_doctor.rule import Finding, Level, Step
from torch_doctor.scan.options import Incomplete
from torch_doctor.sources.source import Cell, SourceFile
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Mapping

WHOLE = Path(__file__).parents[2] / "fixtures" / "whole"
TRAIN = """\
import torch

for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""
MODEL = """\
class Net(nn.Module):
\tdef forward(self, x):
\t\tname = "日本語"; return F.softmax(x)
"""
NOTEBOOK = "a = 1\ntorch.save(\n    model,\n    path,\n)\n"


def source(name: str, text: str, cells: tuple[Cell, ...] | None = None) -> SourceFile:
    return SourceFile(Path("/work") / name, name, text, cells)


@pytest.fixture(scope="session")
def real_scan(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What one scan of whole scripts says, by the name of the format."""
    folder = tmp_path_factory.mktemp("reports")
    formats = ("sarif", "gitlab", "junit")
    wanted = [word for name in formats for word in ("--output-format", f"{name}:{folder / name}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(WHOLE)
        assert cli.run(["scan", "--isolated", "--no-cache", *wanted]) == 1
    return {name: (folder / name).read_text(encoding="utf-8") for name in formats}


@pytest.fixture
def incomplete(folder: Path) -> tuple[Incomplete, ...]:  # noqa: ARG001 - gives the environment
    """Two files that were not analyzed completely: the loop of one was not followed, the other met a limit."""
    return (
        Incomplete("train.py", Site("train.py", 14, 5, 14, 20), "`net` is unknown", loop=True),
        Incomplete("a,b.py", Site("a,b.py", 3, 1, 3, 9), "`build` exceeds its share of the step limit"),
    )


@pytest.fixture
def backward() -> Finding:
    return Finding(
        "TDR101",
        "missing-zero-grad",
        Level.ERROR,
        "nothing clears the gradients of `model` before `loss.backward()`",
        Site("train.py", 5, 5, 5, 20),
        (
            Step(Site("train.py", 3, 1, 3, 20), "the batch loop begins here"),
            Step(Site("model.py", 3, 24, 3, 36), "the output of `model` is made here"),
        ),
        "call `optimizer.zero_grad()` before the forward pass of every batch",
    )


@pytest.fixture
def saved() -> Finding:
    site = Site("train.ipynb", 1, 1, 4, 2, cell=3)
    return Finding("TDR601", "whole-model-saved", Level.WARNING, "`torch.save` pickles, 100% of `model`", site)


@pytest.fixture
def reported(backward: Finding, saved: Finding, rules: tuple[object, ...], folder: Path) -> Reported:  # noqa: ARG001 - gives the environment
    """Two findings: one in two files with a trail, one over several rows of a notebook's cell."""
    cells = (Cell(1, 1, 1), Cell(3, 2, 4))
    sources = {
        "train.py": source("train.py", TRAIN),
        "model.py": source("model.py", MODEL),
        "train.ipynb": source("train.ipynb", NOTEBOOK.rstrip("\n"), cells),
    }
    return Reported([saved, backward], sources, rules)  # type: ignore[arg-type]  # rules, without importing them


@pytest.fixture
def mended(backward: Finding) -> Finding:
    """A finding with a fix of two changes in its file, behind characters of several bytes."""
    site = Site("model.py", 3, 24, 3, 36)
    changes = (
        Change(Site("model.py", 3, 17, 3, 22), '"è"'),
        Change(site, "x"),
    )
    return replace(backward, site=site, trail=(), fix=Proposal(changes, safe=True))
