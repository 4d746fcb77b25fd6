"""`scan --named-only`: what lies elsewhere is another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.test_commit_hooks import HELPER, NETS, TRAIN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome


def test_only_findings_that_concern_the_named_files_are_reported(run: Run, write: Callable[..., Path]) -> None:
    write("pyproject.toml", "")
    for name, text in (("helper.py", HELPER), ("nets.py", NETS), ("train.py", TRAIN)):
        write(name, text)
    for _ in range(2):  # the second time from what is remembered
        found = run("scan", "train.py", "--output-format", "json").json
        assert [(each["filename"], each["code"]) for each in found] == [("helper.py", "TDR111"), ("nets.py", "TDR201")]
        found = run("scan", "train.py", "--output-format", "json", "--named-only").json
        assert [(each["filename"], each["code"]) for each in found] == [("nets.py", "TDR201")]
    assert len(run("scan", ".", "--output-format", "json", "--named-only").json) == 2


def test_a_baseline_is_not_said_to_be_out_of_date_by_a_scan_of_a_few_files(
    run: Run, write: Callable[..., Path]
) -> None:
    write("helper.py", HELPER)
    assert run("scan", "--baseline", "known.json", "--write-baseline").status == 0
    write("helper.py", HELPER.replace("model.eval\n", "model.eval()\n"))
    assert "no longer" in run("scan", "--baseline", "known.json", "helper.py").err
    assert "no longer" not in run("scan", "--baseline", "known.json", "helper.py", "--named-only").err
