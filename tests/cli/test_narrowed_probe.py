"""`--probe` beside `--since` and `--baseline`: what is not reported is not shown, mended or counted either."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.test_probe import BAD
from tests.repositories import commit, init

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any  # arguments to outcome

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"  # .*TDR\d+$", re.MULTILINE)
ONLY_A_RUN = MARK.sub("", (ROOT / "fixtures/TDR120/bad_log_of_zero.py").read_text(encoding="utf-8"))

pytestmark = pytest.mark.usefixtures("farm")


@pytest.fixture(autouse=True)
def _project(folder: Path) -> None:
    init(folder)
    commit(folder, {"old.py": BAD, "root.py": ONLY_A_RUN, ".gitignore": ".torch_doctor_cache\n"})


def codes(outcome: Any) -> list[tuple[str, str, str]]:
    return [(each["filename"], each["code"], each["verdict"]) for each in outcome.json]


def test_what_was_there_before_is_run_and_not_reported(run: Run, write: Callable[..., Path]) -> None:
    write("old.py", BAD.replace("lr=0.1", "lr=0.2"))
    write("new.py", BAD)
    arguments = ("scan", "old.py", "new.py", "--probe", "--since", "HEAD", "--select", "TDR101")
    assert codes(run(*arguments, "--output-format", "json")) == [("new.py", "TDR101", "confirmed")]
    outcome = run(*arguments)
    assert "1 finding not reported: not since HEAD.\n" in outcome.err
    assert " in 1 of 2 files: 1 confirmed." in outcome.err


def test_what_only_a_run_shows_has_to_lie_on_a_changed_line(run: Run, write: Callable[..., Path]) -> None:
    arguments = ("scan", "root.py", "--probe", "--since", "HEAD", "--output-format", "json")
    write("root.py", ONLY_A_RUN.replace("lr=1e-2", "lr=2e-2"))
    assert codes(run(*arguments)) == []
    write("root.py", ONLY_A_RUN.replace("(p)).sum(dim=1)", "(p)).sum(dim=1) * 1.0"))
    assert codes(run(*arguments)) == [("root.py", "TDR120", "confirmed")]


def test_a_baseline_holds_what_only_a_run_shows(run: Run, write: Callable[..., Path]) -> None:
    arguments = ("scan", "old.py", "root.py", "--probe", "--baseline", "known.json", "--output-format", "json")
    outcome = run(*arguments, "--write-baseline")
    assert (outcome.status, codes(outcome)) == (0, []), outcome.err
    assert "Wrote 2 findings to known.json.\n" in outcome.err
    write("root.py", f"import os\n{ONLY_A_RUN}")
    outcome = run(*arguments)
    assert (outcome.status, codes(outcome)) == (0, []), outcome.err
    assert "no longer" not in outcome.err
    assert "no longer" not in run("scan", "old.py", "root.py", "--baseline", "known.json").err
    assert "Wrote 2 findings" in run("scan", "old.py", "root.py", "--baseline", "known.json", "--write-baseline").err


def test_a_fix_of_what_is_new_is_proved(run: Run, folder: Path, write: Callable[..., Path]) -> None:
    write("new.py", BAD)
    outcome = run(
        "scan", "old.py", "new.py", "--probe", "--since", "HEAD", "--fix", "--unsafe-fixes", "--select", "TDR101"
    )
    assert outcome.status == 0, outcome.err
    assert "TDR101 verified: " in outcome.err
    assert "zero_grad" in (folder / "new.py").read_text(encoding="utf-8")
    assert (folder / "old.py").read_text(encoding="utf-8") == BAD
