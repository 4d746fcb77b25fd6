"""Trees of files of one shape, as programs make them: very many, or such that import each other."""

from __future__ import annotations

import cProfile
from typing import TYPE_CHECKING

import pytest

from tests.fuzzing.scanning import command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fuzzing.scanning import Said

TRAIN = (
    "import torch\nfrom torch import nn\n{imports}model{n} = nn.Linear(4, 2)\n"
    "optimizer = torch.optim.SGD(model{n}.parameters(), 0.1)\n"
    "for x, y in torch.utils.data.DataLoader(dataset, 8, shuffle=True):\n"
    "    nn.functional.mse_loss(model{n}(x), y).backward()\n    optimizer.step()\n"
)
"""Its gradients are never cleared, in row 6."""


def scan() -> Said:
    said = command("scan", "--isolated", "--no-cache", "-j1", "--select", "TDR101", "--output-format", "concise", ".")
    assert "internal error" not in said.err
    assert "takes more than" not in said.err
    return said


def calls() -> int:
    """How many functions are called in a scan: unlike seconds, always the same."""
    profile = cProfile.Profile(builtins=False)
    profile.runcall(scan)
    return sum(each.callcount for each in profile.getstats())


def cycle(n: int, size: int) -> str:
    """Each imports the next one, and the last one the first."""
    return f"import m{(n + 1) % size}\n"


def stars(n: int, size: int) -> str:
    """Each takes all that its neighbours have, in a circle."""
    return f"from m{(n + 1) % size} import *\nfrom m{(n - 1) % size} import *\n"


def chain(n: int, size: int) -> str:
    """Each imports the next one."""
    return f"import m{n + 1}\n" if n + 1 < size else ""


def separate(n: int, size: int) -> str:  # noqa: ARG001 - as the others
    """None imports another one."""
    return ""


def lay(write: Callable[..., Path], shape: Callable[[int, int], str], size: int) -> None:
    for n in range(size):
        write(f"m{n}.py", TRAIN.format(n=n, imports=shape(n, size)))


@pytest.mark.parametrize("shape", [cycle, stars, chain])
def test_every_file_of_a_circle_of_imports_is_reported(
    shape: Callable[[int, int], str], write: Callable[..., Path]
) -> None:
    lay(write, shape, 100)
    said = scan()
    assert {line.partition(":")[0] for line in said.out.splitlines() if "TDR101" in line} == {
        f"m{n}.py" for n in range(100)
    }


@pytest.mark.parametrize("shape", [separate, cycle, stars])
def test_a_tree_is_looked_at_in_calls_that_grow_with_it(
    shape: Callable[[int, int], str], write: Callable[..., Path]
) -> None:
    lay(write, shape, 10)
    calls()
    lay(write, shape, 40)
    short = calls()
    lay(write, shape, 160)
    long = calls()
    assert long < 5 * short


def test_ten_thousand_tiny_files_in_one_folder_are_scanned(write: Callable[..., Path]) -> None:
    for n in range(10_000):
        write(f"part{n}.py", f"VALUE = {n}\n")
    write("train.py", TRAIN.format(n=0, imports=""))
    said = scan()
    assert "train.py:6" in said.out
    assert "in 1 of 10001 files" in said.err
