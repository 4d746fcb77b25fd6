"""What grows is looked at in time that grows with it: twice the script takes about twice as long, or is ended."""

from __future__ import annotations

import cProfile
import time
from typing import TYPE_CHECKING

import pytest

from tests.fuzzing import shapes
from tests.fuzzing.scanning import command
from torch_doctor.static.importing import modules

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 30
MOST = 6.0
"""How much longer a script may take that is four times as long: 4 is linear, 16 is quadratic."""
CLEAR = 1.0
"""Seconds below which the clock tells nothing."""


def seconds(path: Path, source: str) -> float:
    path.write_text(source, encoding="utf-8")
    start = time.process_time()
    said = command("scan", "--isolated", "--no-cache", "--select", "ALL", "--output-format", "json", str(path))
    assert "internal error" not in said.err
    assert "takes more than" not in said.err
    return time.process_time() - start


@pytest.mark.parametrize("shape", shapes.WIDE)
def test_a_long_script_takes_time_that_grows_with_its_length(shape: str, folder: Path) -> None:
    make, path = shapes.WIDE[shape], folder / "train.py"
    seconds(path, make(SIZE // 4))
    short, long = seconds(path, make(SIZE)), seconds(path, make(SIZE * 4))
    assert long < max(CLEAR, MOST * short), f"{short} s and {long} s"


def calls(path: Path, source: str) -> int:
    """How many functions are called in a scan of a script: unlike seconds, always the same."""
    path.write_text(source, encoding="utf-8")
    profile = cProfile.Profile(builtins=False)
    said = profile.runcall(command, "scan", "--isolated", "--no-cache", "--select", "ALL", str(path))
    assert "takes more than" not in said.err
    return sum(each.callcount for each in profile.getstats())


@pytest.mark.parametrize("shape", ["matching", "branches", "nested_conditions", "nested_ifs"])
def test_branches_of_one_decision_take_calls_that_grow_with_their_number(shape: str, folder: Path) -> None:
    make, path = (shapes.WIDE | shapes.DEEP)[shape], folder / "train.py"
    calls(path, make(10))
    short, long = calls(path, make(60)), calls(path, make(240))
    assert long < 5 * short


@pytest.mark.parametrize("shape", shapes.DEEP)
@pytest.mark.parametrize("depth", [12, 300])
def test_a_deep_script_is_looked_at(shape: str, depth: int, folder: Path) -> None:
    (folder / "train.py").write_text(shapes.DEEP[shape](depth), encoding="utf-8")
    said = command("scan", "--isolated", "--no-cache", "--select", "ALL", "train.py")
    assert "internal error" not in said.err
    assert said.status in (0, 1)


def test_a_sum_of_more_terms_than_functions_may_call_each_other_costs_no_finding(folder: Path) -> None:
    (folder / "train.py").write_text(shapes.addition(1_100) + 'torch.save(model, "model.pt")\n', encoding="utf-8")
    said = command("scan", "--isolated", "--no-cache", "train.py")
    assert "TDR601" in said.out
    assert "internal error" not in said.err


def test_brackets_that_are_never_closed_are_read_once() -> None:
    start = time.process_time()
    assert len(list(modules(b"from a import (\n" * 20_000))) == 20_000
    assert time.process_time() - start < 2
