"""Imports of large packages: what nobody uses is not executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look
from torch_doctor.report.trace_text import render
from torch_doctor.scan import Options, traces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PARTS = 30
PART = """
import torch
from torch import nn
from nets import table

torch.manual_seed({number})


class Net{number}(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x)


@table.register
def net{number}():
    return Net{number}()
"""
TABLE = """
KNOWN = {}


def register(maker):
    KNOWN[maker.__name__] = maker
    return maker


def build(name):
    if name not in KNOWN:
        raise KeyError(name)
    return KNOWN[name]()
"""


def said_in(path: Path) -> list[str]:
    """The lines of `torch-doctor trace` for a script in a folder of files."""
    found, report = traces(Options(paths=(path,), rules=()))
    assert not report.errors
    return render(found, report.sources, Look(Paint())).splitlines()


@pytest.fixture
def package(write: Callable[..., Path]) -> Callable[[str], None]:
    """Writes a package of thirty models, each in a file of its own, with these imports in its `__init__.py`."""

    def write_package(imports: str) -> None:
        write("nets/__init__.py", "\n".join(imports.format(number=number) for number in range(PARTS)))
        write("nets/table.py", TABLE)
        for number in range(PARTS):
            write(f"nets/part{number}.py", PART.format(number=number))

    return write_package


STAR = "from .part{number} import *"
NAMED = "from .part{number} import Net{number} as Net{number}, net{number}"


@pytest.mark.parametrize("imports", [STAR, NAMED, "from . import part{number}\nfrom .part{number} import *"])
@pytest.mark.parametrize(
    "use",
    [
        "import torch\nfrom nets import net7\n\nmodel = net7()\n",
        "import torch\nimport nets\n\nmodel = nets.net7()\n",
        "import torch\nfrom nets import *\n\nmodel = net7()\n",
        "import torch\nfrom nets import *\n\n\ndef main():\n    model = net7()\n\n\nmain()\n",
    ],
)
def test_the_part_that_gives_the_name_is_executed_and_the_others_are_not(
    imports: str, use: str, package: Callable[[str], None], write: Callable[..., Path]
) -> None:
    package(imports)
    lines = said_in(write("train.py", use))
    assert sum("seed random numbers" in line for line in lines) == 1
    assert sum("create Net7" in line for line in lines) == 1


def test_parts_are_reached_as_attributes_of_the_package(
    package: Callable[[str], None], write: Callable[..., Path]
) -> None:
    package("from . import part{number}")
    lines = said_in(write("train.py", "import torch\nimport nets\n\nmodel = nets.part3.net3()\n"))
    assert sum("create Net3" in line for line in lines) == 1


def test_a_small_package_is_executed_whole(package: Callable[[str], None], write: Callable[..., Path]) -> None:
    package(STAR)
    write("nets/__init__.py", "from .part1 import *\nfrom .part2 import *\n")
    lines = said_in(write("train.py", "import torch\nfrom nets import net1\n\nmodel = net1()\n"))
    assert sum("seed random numbers" in line for line in lines) == 2


def test_a_table_that_other_parts_fill_is_not_taken_to_be_empty(
    package: Callable[[str], None], write: Callable[..., Path]
) -> None:
    package(STAR)
    use = "import nets\nfrom nets.table import build\nfrom torch import nn\n\nmodel = build('net7')\nprint(nn.Linear(4, 2))\n"
    lines = said_in(write("train.py", use))
    assert sum("create Linear" in line for line in lines) == 1  # what follows is reached


def test_packages_that_take_all_of_each_other_end(package: Callable[[str], None], write: Callable[..., Path]) -> None:
    package(STAR)
    write("nets/part3.py", "from nets import *\nfrom others import *\n\n\ndef net3():\n    return nothing()\n")
    write("others/__init__.py", "\n".join(f"from .part{number} import *" for number in range(PARTS)))
    write("others/part3.py", "from nets import *\n")
    use = "import torch\nfrom nets import *\n\nnet3()\nprint(nothing)\nmodel = torch.nn.Linear(4, 2)\n"
    assert sum("create Linear" in line for line in said_in(write("train.py", use))) == 1


@pytest.mark.parametrize("unused", ["from nets import net3, net7 as seven", "import torch\nfrom nets import Net3"])
def test_what_a_file_takes_of_a_large_package_and_never_uses_is_not_executed(
    unused: str, package: Callable[[str], None], write: Callable[..., Path]
) -> None:
    package(NAMED)
    lines = said_in(write("train.py", f"{unused}\nimport torch\n\nmodel = torch.nn.Linear(4, 2)\n"))
    assert not sum("seed random numbers" in line for line in lines)
    assert sum("create Linear" in line for line in lines) == 1


def test_a_package_with_a_large_one_in_it_is_large(package: Callable[[str], None], write: Callable[..., Path]) -> None:
    package(STAR)
    write("nets/__init__.py", "from .inner import net7\nfrom .part2 import net2\n")
    write("nets/inner/__init__.py", "\n".join(f"from ..part{number} import *" for number in range(PARTS)))
    lines = said_in(write("train.py", "import torch\nfrom nets import net7\n\nmodel = net7()\n"))
    assert sum("seed random numbers" in line for line in lines) == 1
    assert sum("create Net7" in line for line in lines) == 1


def test_a_name_of_a_large_package_is_what_a_function_calls(
    package: Callable[[str], None], write: Callable[..., Path]
) -> None:
    package(NAMED)
    write("making.py", "from nets import net7\n\n\ndef make():\n    return net7()\n")
    lines = said_in(write("train.py", "import torch\nfrom making import make\n\nmodel = make()\nagain = make()\n"))
    assert sum("create Net7" in line for line in lines) == 2
    assert sum("seed random numbers" in line for line in lines) == 1


def test_a_fallback_for_a_package_that_is_there_is_not_taken(
    package: Callable[[str], None], write: Callable[..., Path]
) -> None:
    package(NAMED)
    use = "import torch\n\ntry:\n    from nets import net7\nexcept ImportError:\n    net7 = None\nmodel = net7()\n"
    assert sum("create Net7" in line for line in said_in(write("train.py", use))) == 1
