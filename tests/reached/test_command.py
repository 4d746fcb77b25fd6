"""The command that measures how many public scripts are brought to an update, on repositories made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.reached import __main__ as command
from tests.repositories import commit, init

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 2)).mean().backward()
    optimizer.step()
"""
BROKEN = SCRIPT.replace("for _", "print({}['rate'])\nfor _")


def test_updates_are_counted_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["repository\tcommit\tscript"]
    scripts = {"some/trains": SCRIPT, "some/fails": "raise ValueError('no data')\n", "some/breaks": BROKEN}
    for name, text in scripts.items():
        clone = tmp_path / name.replace("/", "+")
        init(clone)
        rows.append(f"{name}\t{commit(clone, {'code/train.py': text})}\tcode/train.py")
    table = tmp_path / "table.tsv"
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setattr(command, "TABLE", table)
    assert command.main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[0] == "3"
    assert printed[0].split()[3] == "some/trains"
    assert printed[1].split()[0] == "0"
    assert "no data" in printed[1]
    assert printed[2].split()[0] == "3*"
    more = "1 of 3; with the loop run alone (*) 1 more"
    assert printed[3:] == [f"at least 1: {more}", f"at least 2: {more}", "ended: on its own 1, KeyError 1"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("train.py fails on its own: TypeError: f() takes 1 argument", "on its own"),
        ("train.py fails: KeyError: 'label'", "KeyError"),
        ("train.py did not finish within 60 s and was stopped (see `--probe-timeout`)", "stopped"),
        ("train.py exited with status 1", "exit"),
        ("train.py stopped at a substitute of the probe that does not fit: NoRowsError", "a substitute"),
        (
            "incomplete run: train.py reached no optimizer step: the loop at a.py:2 had nothing to go over",
            "nothing to go over",
        ),
        ("train.py: 9 checks need real data", ""),
    ],
)
def test_the_kind_of_an_end_is_read_off_what_is_said(said: str, kind: str) -> None:
    assert command.cause(said) == kind


def test_a_missing_clone_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(tmp_path), "--only", "rikcald/mnist-pytorch"]) == 2
    assert capsys.readouterr().err == "rikcald/mnist-pytorch: no clone\n"
