"""The command, over a repository that is made here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.reported.__main__ import main
from tests.reported.ledger import NOT_RUN, Bug, read, sealed, write
from tests.reported.scoring import CONDITIONAL, MISSED, NAMED, NEAR, said_of
from tests.repositories import commit, init

if TYPE_CHECKING:
    from pathlib import Path

FORGETS = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
BACKWARD = 8


class Reported:
    """A folder with a clone, a table of bugs of it, and the command over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.clones = folder / "clones"
        self.work = folder / "work"
        self.table = folder / "bugs.tsv"
        self.capsys = capsys
        init(self.clones / "owner+name")
        self.commit = commit(self.clones / "owner+name", {"train.py": FORGETS})

    def bug(self, **facts: Any) -> Bug:
        """A bug that a scan names, unless its facts are changed."""
        given = {"commit": self.commit, "path": "train.py", "line": BACKWARD, "codes": "TDR101", **facts}
        return Bug("owner/name", family="update", hit="#1", static="", probe=NOT_RUN, miss="", cause="a cause", **given)

    def run(self, *bugs: Bug, arguments: tuple[str, ...] = ()) -> tuple[int, str]:
        """The status and what was printed."""
        write(bugs, Bug, self.table)
        status = main(["score", str(self.clones), "--work", str(self.work), "--table", str(self.table), *arguments])
        return status, "".join(self.capsys.readouterr())


@pytest.fixture
def reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Reported:
    return Reported(tmp_path, capsys)


def test_a_share_of_all_bugs_and_one_of_those_with_a_rule(reported: Reported) -> None:
    status, out = reported.run(
        reported.bug(), reported.bug(codes="-"), reported.bug(codes="TDR999"), reported.bug(line=1)
    )
    assert status == 0
    assert out.startswith("read half: 1 of 4 named (25 %); of those with a rule 1 of 2 named (50 %)\n  update ")


def test_what_is_missed_is_counted_by_reason(reported: Reported) -> None:
    bugs = [reported.bug(codes=code, line=1) for code in ("TDR101", "TDR104")]
    _, out = reported.run(*(replace(bug, miss="behind a flag") for bug in bugs))
    assert "missed\n     2  behind a flag (TDR101 TDR104)\n" in out


def test_the_sealed_half_has_totals_and_no_lines(reported: Reported) -> None:
    _, out = reported.run(reported.bug(), reported.bug(line=1), arguments=("--sealed", "-v"))
    assert out.startswith("sealed half: 1 of 2 named (50 %)")
    assert "train.py" not in out
    assert "missed" not in out


def test_what_a_scan_says_is_recorded_in_the_table(reported: Reported) -> None:
    reported.run(reported.bug(), reported.bug(line=1), arguments=("--record",))
    assert [bug.static for bug in read(Bug, reported.table)] == [NAMED, MISSED]


def test_a_bug_that_cannot_be_scanned_counts_for_nothing_and_is_reported(reported: Reported) -> None:
    status, out = reported.run(reported.bug(), reported.bug(path="gone.py"), reported.bug(commit="0" * 40))
    assert status == 2
    assert out.startswith("read half: 1 of 1 named (100 %)")
    assert f"not scanned: owner/name: no file gone.py in {reported.commit[:10]}\n" in out
    assert f"not scanned: owner/name: the clone has no commit {'0' * 40}\n" in out


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, NAMED),
        ({"row": BACKWARD + NEAR}, NAMED),
        ({"row": BACKWARD + NEAR + 1}, MISSED),
        ({"code": "TDR102"}, NAMED),
        ({"code": "TDR103"}, MISSED),
        ({"filename": "other.py"}, MISSED),
        ({"verdict": "refuted"}, MISSED),
        ({"condition": "with `--freeze`"}, CONDITIONAL),
    ],
)
def test_a_finding_names_a_bug_by_its_code_near_its_line(
    reported: Reported, change: dict[str, Any], expected: str
) -> None:
    given = {"row": BACKWARD, "code": "TDR101", "filename": "train.py", "verdict": None, **change}
    record = {**given, "location": {"row": given.pop("row")}}
    assert said_of(reported.bug(codes="TDR101,TDR102"), [record]) == expected


def test_about_half_of_all_hits_are_sealed() -> None:
    names = [sealed("owner/name", f"#{number}") for number in range(1000)]
    assert 450 < sum(names) < 550
