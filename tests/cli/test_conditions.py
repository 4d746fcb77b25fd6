"""Findings that need another setting than the defaults of the script: where they stand, and what they count for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.marks import FIXTURES
from torch_doctor.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


Run = Any  # arguments to outcome

WITH_A_FLAG = (FIXTURES / "TDR201" / "bad_behind_a_flag.py").read_text(encoding="utf-8")


def test_a_finding_that_needs_another_setting_comes_last_and_fails_only_if_asked_for(
    run: Run, write: Callable[..., Path]
) -> None:
    write("train.py", WITH_A_FLAG)
    outcome = run("scan", "train.py")
    assert outcome.status == 0
    assert "With other settings\n\nerror[TDR201]" in outcome.out
    assert "= only: with `--soft`" in outcome.out
    assert "1 finding with other settings" in outcome.err
    assert run("scan", "--fail-conditional").status == 1
    assert run("scan", "--config", "fail-conditional = true").status == 1
    assert "(with `--soft`)" in run("scan", "--output-format", "concise").out


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_names_the_setting(name: str, run: Run, write: Callable[..., Path]) -> None:
    write("train.py", WITH_A_FLAG)
    assert "with `--soft`" in run("scan", "--output-format", name).out.replace("\\`", "`")


def test_a_comment_suppresses_it_and_a_baseline_knows_it(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", WITH_A_FLAG)
    assert run("scan", "--baseline", "known.json", "--write-baseline").status == 0
    assert "TDR201" not in run("scan", "--baseline", "known.json", "--fail-conditional").out
    write("train.py", WITH_A_FLAG.replace("# not-reached TDR201 with --soft", "# torch-doctor: ignore[TDR201]"))
    assert "TDR201" not in run("scan", "--fail-conditional").out


def test_a_cached_finding_keeps_its_setting(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", WITH_A_FLAG)
    first, second = (run("scan", "--cache-dir", "known", "--output-format", "concise").out for _ in range(2))
    assert first == second
    assert "(with `--soft`)" in second


def test_a_fix_of_it_is_offered(run: Run, write: Callable[..., Path]) -> None:
    path = write("train.py", WITH_A_FLAG)
    run("scan", "--fix", "--unsafe-fixes")
    assert "F.softmax" not in path.read_text(encoding="utf-8")


def test_it_is_no_failure_for_programs_that_count_them(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", WITH_A_FLAG)
    assert "<failure" not in run("scan", "--output-format", "junit").out
    assert "type=warning" in run("scan", "--output-format", "azure").out
