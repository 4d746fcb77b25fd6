"""Workflow commands for GitHub Actions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from torch_doctor.report import github
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from torch_doctor.rule import Finding

PLAIN = Look(Paint())


def test_a_finding_is_one_line_with_its_trail(backward: Finding, folder: Path) -> None:  # noqa: ARG001 - gives the environment
    assert github.render(Reported([backward]), PLAIN) == (
        "::error file=train.py,line=5,col=5,endLine=5,endColumn=20,title=TDR101 missing-zero-grad::"
        "train.py:5:5: nothing clears the gradients of `model` before `loss.backward()`"
        "%0A1. train.py:3:1: the batch loop begins here"
        "%0A2. model.py:3:24: the output of `model` is made here"
        "%0Ahelp: call `optimizer.zero_grad()` before the forward pass of every batch\n"
    )


def test_a_finding_in_a_notebook_says_its_cell_and_line(saved: Finding, folder: Path) -> None:  # noqa: ARG001
    assert github.render(Reported([saved]), PLAIN) == (
        "::warning file=train.ipynb,line=1,endLine=1,title=TDR601 whole-model-saved (cell 3%2C line 1)::"
        "train.ipynb:cell 3:1:1: `torch.save` pickles, 100%25 of `model`\n"
    )


def test_several_lines_have_no_columns(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    long = replace(backward, site=backward.site._replace(end_row=6), trail=(), help="")
    assert "line=5,endLine=6,title=" in github.render(Reported([long]), PLAIN)


def test_advice_is_a_notice(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    assert github.render(Reported([replace(backward, level=Level.ADVICE)]), PLAIN).startswith("::notice ")


def test_characters_with_a_meaning_are_escaped(backward: Finding, folder: Path) -> None:  # noqa: ARG001
    odd = replace(backward, site=backward.site._replace(path="a,b:c%.py"), message="one\ntwo", trail=(), help="")
    text = github.render(Reported([odd]), PLAIN)
    assert "file=a%2Cb%3Ac%25.py," in text
    assert text.endswith("::a,b:c%25.py:5:5: one%0Atwo\n")


def test_paths_begin_at_the_checkout(backward: Finding, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder))
    assert "file=sub/train.py," in github.render(Reported([backward]), PLAIN)


def test_a_finding_in_a_notebook_points_at_the_line_of_the_file_that_the_cell_has_there(
    run: Any, write: Callable[..., Path], notebook: Callable[[list[str]], str]
) -> None:
    content = json.loads(notebook(["md:about", "import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\nmodel(x)"]))
    written = write("train.ipynb", json.dumps(content, indent=1))
    told = run("scan", "--isolated", "--output-format", "github").out
    line = written.read_text(encoding="utf-8").splitlines().index('    "model.eval\\n",') + 1
    assert told.startswith(f"::error file=train.ipynb,line={line},endLine={line},title=TDR")
    assert "(cell 2%2C line 4)::train.ipynb:cell 2:4:1: " in told


def test_errors_come_before_warnings_and_these_before_notices(backward: Finding, saved: Finding, folder: Path) -> None:  # noqa: ARG001
    refuted = backward.with_verdict(Verdict.REFUTED, ())
    advice = replace(saved, level=Level.ADVICE)
    findings = [advice, refuted, saved, backward, replace(backward, code="TDR102")]
    said = github.render(Reported(findings), PLAIN).splitlines()
    assert [line.split()[0] for line in said] == ["::error", "::error", "::warning", "::notice", "::notice"]
    assert "TDR101" in said[0]  # findings of one level keep their order
