"""What a scan tells is the same in whatever order files are given, and whoever imports a file first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static.importing import modules
from torch_doctor.static.imports import Imports
from torch_doctor.static.order import FileOrder
from torch_doctor.trace import Branch, ModuleBuilt, OptimizerBuilt, Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def ordered(folder: Path) -> Callable[..., list[str]]:
    def order(*names: str) -> list[str]:
        project = Project(folder, Ignores(frozenset({folder})))
        given = [folder / name for name in names]
        return [path.relative_to(folder).as_posix() for path in FileOrder(given, project, Imports(project)).files]

    return order


@pytest.fixture
def traced(folder: Path) -> Callable[..., list[Trace]]:
    def trace(*names: str) -> list[Trace]:
        found, report = traces(Options(paths=tuple(folder / name for name in names), rules=()))
        assert not report.errors
        return found

    return trace


def test_a_file_comes_after_those_that_import_it(write: Callable[..., Path], ordered: Callable[..., list[str]]) -> None:
    write("a_layers.py", "import torch\n")
    write("models.py", "def build():\n    from a_layers import Block\n")
    write("train.py", "import models\n")
    for names in (("a_layers.py", "models.py", "train.py"), ("train.py", "a_layers.py", "models.py")):
        assert ordered(*names) == ["train.py", "models.py", "a_layers.py"]


def test_files_that_import_each_other_stand_by_their_names_after_those_that_import_them(
    write: Callable[..., Path], ordered: Callable[..., list[str]]
) -> None:
    write("a.py", "import b\n")
    write("b.py", "import c\n")
    write("c.py", "import a\n")
    write("train.py", "import b\n")
    assert ordered("c.py", "train.py", "b.py", "a.py") == ["train.py", "a.py", "b.py", "c.py"]


def test_the_parts_of_packages_are_imported_by_their_names(
    write: Callable[..., Path], ordered: Callable[..., list[str]]
) -> None:
    write("parts/__init__.py", "")
    write("parts/heads.py", "from . import blocks\n")
    write("parts/blocks.py", "")
    write("train.py", "from parts import heads\n")
    names = ("parts/__init__.py", "parts/blocks.py", "parts/heads.py", "train.py")
    found = ordered(*names)
    assert found == ordered(*reversed(names))
    assert found.index("train.py") < found.index("parts/heads.py") < found.index("parts/blocks.py")


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("import a.b as c, d", [("a.b", 0), ("d", 0)]),
        ("def f():\n    from . import x, y as z", [("", 1), ("x", 1), ("y", 1)]),
        ("from ..m import (\n  a,  # the first\n  # the second\n  b as c,\n)", [("m", 2), ("m.a", 2), ("m.b", 2)]),
        ("from m import a, \\\n    b", [("m", 0), ("m.a", 0), ("m.b", 0)]),
        ("try: import q\nexcept ImportError: q = None; import r", [("q", 0), ("r", 0)]),
        ("from a import *", [("a", 0)]),
        ("from.m import a;import b", [("m", 1), ("m.a", 1), ("b", 0)]),
        ("important = 'no'\nx = important", []),
    ],
)
def test_imports_are_found_without_parsing(code: str, meant: list[tuple[str, int]]) -> None:
    assert list(modules(code.encode())) == meant


def test_files_between_two_given_ones_join_them(write: Callable[..., Path], folder: Path) -> None:
    given = [write("train.py", "import between\n"), write("parts.py", "import torch\n")]
    write("between.py", "import parts\n")
    project = Project(folder, Ignores(frozenset({folder})))
    order = FileOrder(given, project, Imports(project))
    assert order.files == given
    assert (order.above(given[1]), order.below(given[0])) == ([given[0]], given)
    assert (order.above(given[0]), order.below(given[1])) == ([], [given[1]])


COMMON = """
import os
import torch
from torch import nn
model = nn.Linear(4, 2)
if os.environ.get("ADAM"):
    optimizer = torch.optim.Adam(model.parameters())
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


def test_what_an_imported_file_builds_is_in_the_trace_of_every_script(
    write: Callable[..., Path], traced: Callable[..., list[Trace]]
) -> None:
    write("common.py", COMMON)
    write("first.py", "import torch\nfrom common import model\nmodel(torch.randn(2, 4))\n")
    write("second.py", "import torch\nimport sys\nif len(sys.argv) > 1:\n    print(1)\nimport common\n")
    found = {trace.path: trace for trace in traced("second.py", "common.py", "first.py")}
    assert set(found) == {"first.py", "second.py"}
    for trace in found.values():
        assert [event.class_name for event in trace.of(ModuleBuilt)] == ["torch.nn.Linear"]
        adam, sgd = trace.of(OptimizerBuilt)
        [(branch, arm)] = adam.guards
        assert sgd.guards == {(branch, not arm)}
        assert isinstance(trace.branches[branch], Branch)
        assert trace.branches[branch].site.path == "common.py"
        assert [event.index for event in trace.events] == list(range(trace.first, trace.next))


def test_an_imported_file_is_repeated_once_in_a_run(
    write: Callable[..., Path], traced: Callable[..., list[Trace]]
) -> None:
    write("common.py", COMMON)
    write("other.py", "import torch\nfrom common import optimizer\n")
    for name in ("first.py", "second.py"):
        write(name, "import torch\nimport common\nimport other\nfrom other import optimizer\n")
    for trace in traced("first.py", "second.py"):
        assert len(trace.of(ModuleBuilt)) == 1


def test_what_an_import_came_to_before_is_an_import_of_the_next_file_too(
    write: Callable[..., Path], traced: Callable[..., list[Trace]]
) -> None:
    write("common.py", COMMON)
    write("other.py", "import torch\nfrom common import optimizer\n")
    write("first.py", "import torch\nimport common\nimport other\n")
    write("second.py", "import torch\nfrom other import optimizer\n")
    write("third.py", "import torch\nimport common\nimport other\n")
    for trace in traced("first.py", "second.py", "third.py"):
        assert len(trace.of(ModuleBuilt)) == 1, trace.path


def test_each_function_that_nobody_calls_imports_for_itself(
    write: Callable[..., Path], traced: Callable[..., list[Trace]]
) -> None:
    write("common.py", COMMON)
    body = "    from common import model\n    model(torch.randn(2, 4))\n"
    write("train.py", f"import torch\ndef first(x):\n{body}\ndef second(x):\n{body}")
    alone = [trace for trace in traced("train.py") if trace.begins_outside and trace.path == "train.py"]
    assert [len(trace.of(ModuleBuilt)) for trace in alone] == [1, 1]


def test_what_a_function_that_nobody_calls_enters_is_not_run_on_its_own(
    write: Callable[..., Path], traced: Callable[..., list[Trace]]
) -> None:
    write("a_steps.py", "import torch\ndef update(loss):\n    loss.backward()\n")
    write("z_fit.py", "import torch\nfrom a_steps import update\ndef fit(model, x):\n    update(model(x).sum())\n")
    for names in (("a_steps.py", "z_fit.py"), ("z_fit.py", "a_steps.py")):
        assert [trace.path for trace in traced(*names) if trace.events and trace.begins_outside] == ["z_fit.py"]
