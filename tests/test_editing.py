"""A small project is edited, and a scan prints the same to the byte with a cache, in several processes and in shards."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Run = Callable[..., Outcome]

TRAIN = """
import torch
from torch import nn
from parts import build, fit

model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
fit(model, optimizer)
"""
OTHER = """
import torch
import parts

net = parts.build()
adam = torch.optim.Adam(net.parameters())
parts.fit(net, adam)
"""
PARTS = """
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(4, 2))


def fit(model, optimizer):
    for _ in range(10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
        loss.backward()
        optimizer.step()
"""
FILES = {"train.py": TRAIN, "other.py": OTHER, "parts.py": PARTS}
SWAPS = (
    ("        optimizer.zero_grad()\n", ""),
    ("nn.Linear(4, 2))", "nn.Linear(4, 2), nn.Softmax(dim=1))"),
    ("        optimizer.step()\n", "        optimizer.step\n"),
    ("def fit(", "def train("),
    ("import build, fit", "import build, train as fit"),
    ("parts.fit(", "parts.train("),
    ("model = build()", "model = nn.Linear(4, 2)"),
    ("net.parameters()", "[]"),
)
"""Bugs and renamings, made and undone."""
EDITS = st.one_of(
    st.tuples(st.just("swap"), st.sampled_from(SWAPS)),
    st.tuples(st.just("delete"), st.sampled_from(sorted(FILES))),
    st.tuples(st.just("restore"), st.sampled_from(sorted(FILES))),
    st.tuples(st.just("move"), st.sampled_from([("parts.py", "helpers.py"), ("train.py", "main.py")])),
)
ALL = ("scan", "--isolated", "--select", "ALL")


def edit(folder: Path, kind: str, what: str | tuple[str, str]) -> None:
    """Make an edit, or undo it where it was made before; a move takes along what other files import."""
    if isinstance(what, str):
        (folder / what).unlink(missing_ok=True)
        if kind == "restore":
            (folder / what).write_text(FILES[what])
        return
    old, new = what
    if kind == "move":
        if not (folder / old).exists():
            old, new = new, old
        if (folder / old).exists():
            (folder / old).rename(folder / new)
        old, new = old.removesuffix(".py"), new.removesuffix(".py")
    for path in folder.glob("*.py"):
        text = path.read_text()
        path.write_text(text.replace(old, new) if old in text else text.replace(new, old) if new else text)


def printed(run: Run, *options: str) -> tuple[int, str, str]:
    """The status of a scan, and all that it prints."""
    done = run(*ALL, *options)
    return done.status, done.out, done.err


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDITS, min_size=1, max_size=5))
def test_after_each_edit_a_cached_scan_prints_what_a_fresh_one_prints(
    run: Run, folder: Path, edits: list[tuple[str, str | tuple[str, str]]]
) -> None:
    for path in folder.glob("*.py"):
        path.unlink()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    shutil.rmtree(folder / ".torch_doctor_cache", ignore_errors=True)
    printed(run)
    for each in edits:
        edit(folder, *each)
        assert printed(run) == printed(run, "--no-cache")


@pytest.mark.parametrize("bugs", [SWAPS[:1], SWAPS[1:4], SWAPS[6:]])
def test_processes_and_shards_print_what_one_process_prints(
    run: Run, folder: Path, bugs: tuple[tuple[str, str], ...]
) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for each in bugs:
        edit(folder, "swap", each)
    form = ("--no-cache", "--output-format")
    whole = printed(run, *form, "json")
    assert "TDR" in whole[1]
    assert printed(run, "--jobs", "2", *form, "json") == whole
    for number in (1, 2):
        printed(run, "--shard", f"{number}/2", *form, f"json:{number}.json")
    assert run("merge", "1.json", "2.json").out == whole[1]
