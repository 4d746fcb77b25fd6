"""The command, over repositories that are made here."""

from __future__ import annotations

import json
import subprocess
import textwrap
from typing import TYPE_CHECKING

import pytest

from tests.ecosystem import scanning
from tests.ecosystem.__main__ import main
from tests.ecosystem.ledger import HEADING, Ledger
from tests.ecosystem.scanning import trains

if TYPE_CHECKING:
    from pathlib import Path

FORGETS = """
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
"""
CLEARS = FORGETS.replace("loss.backward()", "optimizer.zero_grad()\n        loss.backward()")
NAME = "owner/name"


class Ecosystem:
    """A folder of clones, a list that names one of them, a ledger, and the command over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.clones = folder / "clones"
        self.repository = self.clones / "owner+name"
        self.repository.mkdir(parents=True)
        self.folder = folder
        self.capsys = capsys
        self.git("init", "--quiet")
        self.ledger = folder / "ledger.tsv"
        self.ledger.write_text("\t".join(HEADING) + "\n", encoding="utf-8")

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=self.repository, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, half: str = "mend", **files: str) -> None:
        """Commit files, without their ending, and list the repository at this commit."""
        for name, text in files.items():
            (self.repository / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "files")
        line = f"{NAME} {self.git('rev-parse', 'HEAD')} good {half}\n"
        (self.folder / "list.txt").write_text(line, encoding="utf-8")

    def run(self, *arguments: str | Path) -> tuple[int, str]:
        """The status and what was printed."""
        where = ("--work", self.folder / "work", "--list", self.folder / "list.txt", "--ledger", self.ledger)
        status = main([str(argument) for argument in (self.clones, *where, *arguments)])
        return status, "".join(self.capsys.readouterr())

    def fingerprints(self) -> list[str]:
        return list(Ledger.read(self.ledger.read_text(encoding="utf-8")).entries)

    def judge(self, judgement: str) -> None:
        """Say the same of every finding of the ledger."""
        file = self.folder / "judgements.txt"
        file.write_text("".join(f"{name} {judgement}\n" for name in self.fingerprints()), encoding="utf-8")
        assert self.run("--take", file) == (0, f"{len(self.fingerprints())} judgements taken\n")


@pytest.fixture
def ecosystem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ecosystem:
    return Ecosystem(tmp_path, capsys)


def test_a_finding_is_new_then_unjudged_then_known(ecosystem: Ecosystem) -> None:
    ecosystem.commit(train=FORGETS)
    status, out = ecosystem.run("--record")
    assert status == 1
    assert "new   unjudged TDR101 E owner/name train.py:9" in out
    assert out.endswith("1 new (1 unjudged), 0 gone (none), 1 unjudged\n")
    status, out = ecosystem.run()
    assert (status, out.splitlines()[-1]) == (1, "0 new (none), 0 gone (none), 1 unjudged")
    ecosystem.judge("true nothing clears the gradients")
    status, out = ecosystem.run()
    assert (status, out.splitlines()[-1]) == (0, "0 new (none), 0 gone (none), 0 unjudged")


def test_nothing_is_new_at_a_commit_that_only_moves_lines(ecosystem: Ecosystem) -> None:
    ecosystem.commit(train=FORGETS)
    ecosystem.run("--record")
    ecosystem.commit(train=f'"""Trains."""\n\nNOTE = 1\n{textwrap.dedent(FORGETS)}')
    assert ecosystem.run()[1].endswith("0 new (none), 0 gone (none), 1 unjudged\n")


def test_a_finding_that_is_gone_is_told_with_its_judgement_and_told_again_when_it_is_back(
    ecosystem: Ecosystem,
) -> None:
    ecosystem.commit(train=FORGETS)
    ecosystem.run("--record")
    ecosystem.judge("true nothing clears the gradients")
    ecosystem.commit(train=CLEARS)
    status, out = ecosystem.run("--record")
    assert status == 1
    assert "gone  true     TDR101 E owner/name train.py  nothing clears the gradients" in out
    ecosystem.commit(train=FORGETS)
    assert ecosystem.run()[1].endswith("1 new (1 true), 0 gone (none), 0 unjudged\n")


def test_figures_are_for_100_files_that_train(ecosystem: Ecosystem) -> None:
    ecosystem.commit(train=FORGETS, clears=CLEARS, fits=CLEARS, steps=CLEARS, model="import torch.nn\n")
    ecosystem.run("--record")
    ecosystem.judge("false it is cleared elsewhere")
    out = ecosystem.run()[1]
    assert out.startswith("mend: 1 repositories, 4 files that train\n")
    rows = {line[:12].strip(): line[12:].split() for line in out.splitlines()[2:5]}
    assert rows == {name: ["1", "0", "0", "1", "0", "0.00", "25.00"] for name in ("all", "level E", "TDR101 E")}


def test_the_half_to_judge_is_not_looked_at_unless_it_is_asked_for(ecosystem: Ecosystem) -> None:
    ecosystem.commit("judge", train=FORGETS)
    assert ecosystem.run() == (0, "0 new (none), 0 gone (none), 0 unjudged\n")
    assert "new   unjudged TDR101" in ecosystem.run("--half", "judge")[1]


def test_a_repository_that_is_not_in_the_half_is_not_passed_over_in_silence(ecosystem: Ecosystem) -> None:
    ecosystem.commit("judge", train=FORGETS)
    assert ecosystem.run("--only", NAME, "other/one") == (2, "other/one, owner/name: not in this half of the list\n")
    assert ecosystem.run("--half", "judge", "--only", NAME)[0] == 1


def test_what_is_unjudged_is_shown_beside_its_source(ecosystem: Ecosystem) -> None:
    ecosystem.commit(train=FORGETS)
    ecosystem.run("--record")
    lines = ecosystem.run("--unjudged", "1")[1].splitlines()
    assert lines[0] == f"{ecosystem.fingerprints()[0]}  TDR101 E  owner/name  train.py:9"
    assert any(line.startswith("  - train.py:10:") for line in lines)
    assert lines[-4:-1] == [
        "     8 |     loss = model(torch.randn(8, 4)).pow(2).mean()",
        ">    9 |     loss.backward()",
        "    10 |     optimizer.step()",
    ]


def test_a_finding_of_a_notebook_is_shown_in_its_cell(ecosystem: Ecosystem) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Training"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "%matplotlib inline"},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": textwrap.dedent(FORGETS).strip(),
        },
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (ecosystem.repository / "train.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    ecosystem.commit()
    out = ecosystem.run("--unjudged", "0")[1]
    assert "owner/name  train.ipynb:cell 3:8\n" in out
    assert ">    8 |     loss.backward()\n" in out


def test_a_second_run_goes_on_where_the_first_was_stopped(
    ecosystem: Ecosystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    ecosystem.commit(train=FORGETS)
    first = ecosystem.run()
    monkeypatch.setattr(scanning, "COMMAND", ("false",))
    assert ecosystem.run() == first
    monkeypatch.setattr(scanning, "version", lambda: "another")
    status, out = ecosystem.run()
    assert (status, "owner/name: the scan left with status 1" in out) == (2, True)


def test_a_folder_that_is_no_clone_is_scanned_as_it_is(ecosystem: Ecosystem) -> None:
    ecosystem.commit(train=FORGETS)
    (ecosystem.repository / ".git").rename(ecosystem.folder / "elsewhere")
    assert "new   unjudged TDR101 E owner/name train.py:9" in ecosystem.run()[1]


def test_a_clone_that_is_missing_or_lacks_the_commit_is_named(ecosystem: Ecosystem) -> None:
    ecosystem.commit(train=FORGETS)
    listing = ecosystem.folder / "list.txt"
    listing.write_text(f"{NAME} {'0' * 40} good mend\nother/one {'0' * 40} zoo mend\n", encoding="utf-8")
    status, out = ecosystem.run()
    assert status == 2
    assert f"owner/name: the clone has no commit {'0' * 40}\n" in out
    assert f"other/one: no folder other+one in {ecosystem.clones}\n" in out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss.backward()", True),
        ("self.optimizer_g.step()", True),
        ("    def training_step(self, batch, index):", True),
        ("trainer.fit(model)", True),
        ("class Loss(Function):\n    def backward(ctx, grad): ...", False),
        ("env.step(action)", False),
        ("model.fit(x)", False),
    ],
)
def test_a_file_trains_when_its_text_goes_backward_steps_or_calls_a_trainer(text: str, *, expected: bool) -> None:
    assert trains(text) is expected


UNKNOWN = """
    import torch
    from elsewhere import Engine

    engine = Engine()
    for batch in engine.batches():
        engine.loss(batch).backward()
        engine.step()
"""


def test_loops_that_are_not_followed_are_counted_by_reason(ecosystem: Ecosystem) -> None:
    ecosystem.commit(train=CLEARS, unknown=UNKNOWN)
    for _ in range(2):  # scanned, and as it was kept
        assert "1 training loops not followed (50.0 %): 1 not found" in ecosystem.run()[1].splitlines()
