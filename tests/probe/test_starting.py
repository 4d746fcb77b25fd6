"""The folder that a script is started in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.probe.starting import Start, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1)).backward()
    optimizer.step()
torch.save(model.state_dict(), "results/model.pt")
"""


@pytest.mark.parametrize(
    ("code", "there", "found"),
    [
        ('open("data/train.csv")', "vae/data/train.csv", "data/train.csv"),
        ('open("./data/train.csv")', "vae/data/train.csv", "data/train.csv"),
        ('open("train.csv")', "vae/train.csv", "train.csv"),
        ('save(model, f"results/{epoch}.pt")', "vae/results/.gitkeep", "results"),
    ],
)
def test_a_script_is_started_beside_what_its_paths_name(
    folder: Path, write: Callable[..., Path], code: str, there: str, found: str
) -> None:
    script = write("vae/main.py", code)
    write(there, "")
    assert start(folder, script, folder, []) == Start(folder / "vae", found)


def test_a_script_is_started_in_the_project_where_only_that_has_its_files(
    folder: Path, write: Callable[..., Path]
) -> None:
    script, module = write("tools/train.py", "import settings"), write("tools/settings.py", 'load("configs/base.yaml")')
    write("configs/base.yaml", "")
    assert start(folder / "tools", script, folder, [module]) == Start(folder, "configs/base.yaml")


@pytest.mark.parametrize(
    "code",
    [
        'open("data/train.csv"); open("vae/main.py")',  # one of them is here
        'open("data/missing.csv")',
        'open("/data/train.csv")',
        'train("data")',  # a word
        'help("""read data/train.csv\n""")',
        "def (",
    ],
)
def test_a_script_is_started_here_where_nothing_speaks_against_it(
    folder: Path, write: Callable[..., Path], code: str
) -> None:
    script = write("vae/main.py", code)
    write("vae/train.csv", "")
    assert start(folder, script, folder, [folder / "gone.py"]) == Start(folder)


def test_a_folder_beside_the_script_is_not_missing_where_it_is_started_from_the_root(
    run: Callable[..., Outcome], write: Callable[..., Path]
) -> None:
    write("vae/main.py", SCRIPT)
    write("vae/results/.gitignore", "*.pt")
    done = run("scan", "--probe", "--select", "TDR610", "vae/main.py")
    assert done.out == ""
    assert "vae/main.py was started in `vae`, where `results` is" in done.err


def test_what_is_given_to_a_script_is_meant_for_the_folder_that_it_is_given_in(
    run: Callable[..., Outcome], write: Callable[..., Path]
) -> None:
    write("vae/main.py", SCRIPT)
    write("vae/results/.gitignore", "*.pt")
    done = run("scan", "--probe", "--select", "TDR610", "vae/main.py", "--", "here.csv")
    assert "TDR610" in done.out
    assert "was started in" not in done.err


def test_an_exit_before_the_first_step_is_told_with_its_place(
    run: Callable[..., Outcome], write: Callable[..., Path]
) -> None:
    write("train.py", SCRIPT.replace("for _ in", "if model.weight.numel() != 5:\n    raise SystemExit\nfor _ in"))
    done = run("scan", "--probe", "train.py")
    assert "warning: train.py exits at train.py:7 (`raise SystemExit`)\n" in done.err
    assert "probe: incomplete run: train.py did not reach its training loop" in done.err
