"""`torch-doctor diagnose`: what somebody sees, and what is behind it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING
from torch_doctor.checkup.reading import readings
from torch_doctor.checkup.symptoms import BY_NAME, SYMPTOMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from torch_doctor.checkup.symptoms import Symptom

    Run = Callable[..., Outcome]


def test_without_a_script_the_causes_are_listed(run: Run) -> None:
    outcome = run("diagnose", "loss is nan")
    assert outcome.status == 0
    assert outcome.out.startswith("Possible causes when the loss is nan, most likely first:\n\n1. ")
    assert 'Run `torch-doctor diagnose "the loss is nan" train.py`' in outcome.out


def test_the_list_has_every_symptom(run: Run) -> None:
    titles = re.findall(r"^## (.*)$", run("diagnose", "--list").out, flags=re.MULTILINE)
    assert [title.lower() for title in titles] == [symptom.name.lower() for symptom in SYMPTOMS]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("banana", "unknown symptom `banana`; `torch-doctor diagnose --list` lists the known ones"),
        ("loss", '`loss` is ambiguous: use "the loss does not decrease"'),
    ],
)
def test_what_cannot_be_told_is_said(run: Run, said: str, answer: str) -> None:
    outcome = run("diagnose", said)
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {answer}")


def test_the_reading_is_stated(run: Run) -> None:
    outcome = run("diagnose", "my cpu ram keeps increasing until out of memory")
    assert outcome.status == 0
    assert outcome.err == "reading this as: memory grows\n"
    assert outcome.out.startswith("Possible causes when memory grows")


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch) -> list[Symptom]:
    """Two readings that are equally good, whatever is said; names are still read as they are."""
    both = [BY_NAME["memory grows"], BY_NAME["two runs differ"]]
    monkeypatch.setattr("torch_doctor.cli.diagnose.readings", lambda said: both if said == "either" else readings(said))
    return both


@pytest.mark.usefixtures("undecided")
def test_two_readings_are_printed_where_nobody_can_answer(run: Run) -> None:
    outcome = run("diagnose", "either")
    assert outcome.status == 2
    assert outcome.err == 'error: `either` is ambiguous: use "memory grows" or "two runs differ"\n'


@pytest.mark.usefixtures("undecided")
def test_in_a_terminal_two_readings_are_a_question(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["3", "2"])
    monkeypatch.setattr("torch_doctor.cli.diagnose.is_terminal", lambda _: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(said))
    outcome = run("diagnose", "either")
    assert "  1. memory grows\n  2. two runs differ\n" in outcome.err
    assert outcome.err.endswith("reading this as: two runs differ\n")


def test_nobody_is_asked_where_nobody_can_answer(run: Run) -> None:
    outcome = run("diagnose")
    assert outcome.status == 2
    assert "describe the symptom" in outcome.err


def test_whoever_says_nothing_is_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["banana", "7"])
    monkeypatch.setattr("torch_doctor.cli.diagnose.is_terminal", lambda _: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(said))
    outcome = run("diagnose")
    assert f"Possible causes when {SYMPTOMS[6].name}" in outcome.out
    assert "unknown symptom `banana`" in outcome.err


@pytest.mark.usefixtures("farm")
def test_a_script_is_examined_and_the_bug_comes_first(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TRAINING.replace("        optimizer.zero_grad()\n", ""))
    outcome = run("diagnose", "the loss explodes", "train.py", "--isolated", "--time", "60", "-q")
    assert outcome.status == 1
    first = outcome.out.partition("\n\n")[2].partition("\n\n")[0]
    assert first.startswith(
        "1. gradients are not cleared, not computed or not applied\n   confirmed\n   for:     TDR101"
    )
    assert "Start with: gradients are not cleared" in outcome.out
    assert "call `optimizer.zero_grad()`" in " ".join(outcome.out.split())


@pytest.mark.usefixtures("farm")
def test_a_symptom_that_does_not_occur_in_the_run_is_said_so_first(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TRAINING.replace("        optimizer.zero_grad()\n", ""))
    out = run("diagnose", "the loss is nan", "train.py", "--isolated", "--time", "60", "-q").out
    assert " ".join(out.split()).startswith(
        "When the loss is nan: train.py It did not occur in this run: batch, activations,"
    )


@pytest.mark.usefixtures("farm")
def test_what_the_scan_finds_besides_comes_first_where_no_cause_is_confirmed(
    run: Run, write: Callable[..., Path]
) -> None:
    write("train.py", TRAINING.replace("        optimizer.zero_grad()\n", ""))
    outcome = run("diagnose", "the GPU is idle", "train.py", "--isolated", "--time", "60", "-q")
    assert outcome.status == 1
    first = outcome.out.partition("\n\n")[2].partition("\n\n")[0]
    assert first.startswith("Scan findings\n   TDR101 at train.py:")
    assert "Start with: TDR101 at train.py:" in outcome.out


@pytest.mark.usefixtures("farm")
def test_what_the_scan_finds_besides_comes_last_where_a_cause_is_confirmed(
    run: Run, write: Callable[..., Path]
) -> None:
    text = TRAINING.replace("        optimizer.zero_grad()\n", "").replace("    with torch.no_grad():", "    if True:")
    write("train.py", text)
    out = run("diagnose", "my loss is exploding", "train.py", "--isolated", "--time", "60", "-q").out
    assert out.index("TDR101 at train.py") < out.index("Scan findings") < out.index("TDR402 at train.py")
    assert "Start with: gradients are not cleared" in out
