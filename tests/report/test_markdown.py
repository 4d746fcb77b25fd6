"""The summary of a job: a table that means what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from torch_doctor.report import markdown
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.rule import Finding

PLAIN = Look(Paint())
BAD = "import torch\nloss.backward()\noptimizer.step()\n"


def table(text: str) -> list[list[str]]:
    """The cells of each row, as GitHub splits them: at bars without a backslash before them."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    assert len({len(row) for row in cells}) <= 1
    return cells


def test_a_finding_is_a_row_below_the_counts(reported: Reported) -> None:
    text = markdown.render(reported, PLAIN)
    assert text.startswith("### torch-doctor: 1 error, 1 warning\n\n| Level |")
    titles, line, in_notebook, in_file = table(text)
    assert titles == ["Level", "Place", "Rule", "Finding"]
    assert set(line) == {"---"}
    assert in_file == [
        "error",
        "train.py:5:5",
        "[TDR101](https://torch-doctor.github.io/torch-doctor/rules/TDR101/) missing-zero-grad",
        "nothing clears the gradients of `model` before `loss.backward()`",
    ]
    assert in_notebook[1] == "train.ipynb:cell 3:1:1"


def test_places_are_links_on_github(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SERVER_URL", "https://github.com"), ("REPOSITORY", "us/it"), ("SHA", "abc")):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    *_, in_notebook, in_file = table(markdown.render(reported, PLAIN))
    assert in_file[1] == "[train.py:5:5](https://github.com/us/it/blob/abc/train.py#L5)"
    assert in_notebook[1] == "[train.ipynb:cell 3:1:1](https://github.com/us/it/blob/abc/train.ipynb)"


def test_verdicts_have_a_column(backward: Finding, folder: Path) -> None:  # noqa: ARG001 - gives the environment
    confirmed = replace(backward, verdict=Verdict.CONFIRMED)
    titles, _, row = table(markdown.render(Reported([confirmed]), PLAIN))
    assert (titles[-1], row[-1]) == ("Probe", "confirmed")


def test_characters_with_a_meaning_are_escaped(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    odd = replace(backward, message="a|b `c|d` <b> __init__\nnext", site=backward.site._replace(path="my|[code].py"))
    *_, row = table(markdown.render(Reported([odd]), PLAIN))
    assert row[3] == r"a\|b `c\|d` \<b\> \_\_init\_\_ next"
    assert row[1] == r"my\|\[code\].py:5:5"
    single = replace(backward, message="a ` b")
    assert table(markdown.render(Reported([single]), PLAIN))[-1][3] == r"a \` b"


def test_a_long_table_is_cut_and_says_so(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    text = markdown.render(Reported([replace(backward, level=Level.ADVICE)] * 1002), PLAIN)
    assert len(table(text)) == 1002  # with its head
    assert text.startswith("### torch-doctor: 1002 advice\n")
    assert text.endswith("\n2 more are not shown.\n")
    assert len(text.encode()) < 2**20


def test_without_findings_there_is_no_table() -> None:
    assert markdown.render(Reported([]), PLAIN) == "### torch-doctor: no findings\n"
    assert "the log of this step says why" in markdown.render(Reported([], errors=["a.py: no"]), PLAIN)


@pytest.mark.usefixtures("stand_ins")
def test_the_summary_of_a_job_is_written_beside_annotations(
    run: Any, write: Callable[..., Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", BAD)
    summary = write("summary.md", "# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run("scan", "--output-format", "concise").status == 1
    assert summary.read_text(encoding="utf-8") == "# Before\n"
    assert run("scan", "--output-format", "github").out.startswith("::error file=train.py,line=2")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("# Before\n### torch-doctor: 1 error, 1 warning\n")
    run("scan", "--output-format", "markdown:own.md")
    assert (folder / "own.md").read_text(encoding="utf-8") == text.removeprefix("# Before\n")


@pytest.mark.usefixtures("stand_ins")
def test_a_summary_that_cannot_be_written_costs_a_warning(
    run: Any, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", BAD)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "nowhere/summary.md")
    outcome = run("scan", "--output-format", "github")
    assert outcome.status == 1
    assert "warning: the job summary nowhere/summary.md cannot be written: No such file" in outcome.err
