"""What a run depends on is written down with its trace: files that it read, files that are not there, questions it asked."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from torch_doctor.scan import Options, traces
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static.imports import Imports
from torch_doctor.static.searching import is_there

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRAIN = """
import torch
import einops
from net import Net

model = Net()
model(torch.randn(2, 4)).sum().backward()
"""
NET = """
from torch import nn
import sizes


class Net(nn.Linear):
    def __init__(self):
        super().__init__(4, sizes.OUT)
"""


def test_a_run_depends_on_what_its_imports_import(write: Callable[..., Path], folder: Path) -> None:
    write("pyproject.toml", "")
    train, net, sizes = write("train.py", TRAIN), write("net.py", NET), write("sizes.py", "OUT = 2\n")
    write("other.py", "import torch\nimport sizes\n")
    found, _ = traces(Options(paths=(train,), rules=()))
    depends = found[0].depends
    assert depends is not None
    assert depends.read == {str(train), str(net), str(sizes)}
    assert str(folder / "einops") in depends.absent
    assert not depends.absent & depends.read


def test_a_module_that_appears_is_one_that_was_looked_for(write: Callable[..., Path], folder: Path) -> None:
    write("pyproject.toml", "")
    train = write("train.py", TRAIN)
    missing = folder / "net"
    found, _ = traces(Options(paths=(train,), rules=()))
    before = found[0].depends
    assert before is not None
    assert str(missing) in before.absent
    assert not is_there(str(missing))
    appeared = write("net.py", NET)
    assert is_there(str(missing))
    found, _ = traces(Options(paths=(train,), rules=()))
    after = found[0].depends
    assert after is not None
    assert str(appeared) in after.read


def test_questions_about_the_rest_of_the_project_are_written_down(write: Callable[..., Path]) -> None:
    write("pyproject.toml", "")
    write("other.py", "import torch\n")
    source = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.used = nn.Linear(4, 4)
            self.left_out = nn.Linear(4, 4)

        def forward(self, x):
            return self.used(x)

    Net()(torch.randn(2, 4))
    """

    train = write("train.py", textwrap.dedent(source))
    found, _ = traces(Options(paths=(train,), rules=()))
    depends = found[0].depends
    assert depends is not None
    assert "left_out" in depends.asked
    assert "used" not in depends.asked


def test_a_file_that_imports_its_own_name_hides_itself_from_nobody(write: Callable[..., Path], folder: Path) -> None:
    own, other = write("parts.py", "import parts\n"), write("train.py", "import parts\n")
    imports = Imports(Project(folder, Ignores(frozenset({folder}))))
    assert imports.find(own, "parts") is None
    assert imports.find(other, "parts") == own


def test_a_file_that_is_only_searched_for_imports_is_not_lowered(folder: Path, write: Callable[..., Path]) -> None:
    script = write("train.py", "import here\nimport torch, elsewhere\n")
    write("here.py", "import os.path, sys; sys.path.append('library')\n")
    write("library/elsewhere.py", "import torch\n")
    imports = Imports(Project(folder, Ignores(frozenset({folder}))))
    assert imports.find(script, "elsewhere") == folder / "library" / "elsewhere.py"
    assert imports.characters == 0
