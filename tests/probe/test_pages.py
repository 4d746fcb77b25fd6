"""The examples of every rule's page, run: the first is what a run confirms, the second what it finds nothing in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from tests.marks import rules_for
from torch_doctor import examples
from torch_doctor.probing import Probing
from torch_doctor.rule import Rule, Verdict, all_rules
from torch_doctor.scan import Options, Report, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

each = pytest.mark.parametrize(
    "rule", [rule for rule in all_rules() if "P" in rule.witness], ids=lambda rule: rule.code
)

UNDECIDED = dict.fromkeys(("TDR716", "TDR717", "TDR804"), Verdict.UNDECIDED)
"""Rules of whose examples a run cannot tell: channels and numbers have no names, and on the CPU moves change nothing."""

GPU = frozenset(("TDR810",))
"""Rules whose examples only a machine with a GPU can tell."""

TWO = frozenset(("TDR809", "TDR814"))
"""Rules of whose examples one process cannot tell, and two can."""

DRAWN = frozenset(("TDR716",))
"""Rules whose examples end at a picture that stands in for a file: without OpenCV, it has no channels."""

pytestmark = pytest.mark.usefixtures("farm", "records")


def probed(rule: Rule, path: Path) -> Report:
    """Return the report of a scan with the probe."""
    how = Probing(seconds=60, processes=2 if rule.code in TWO else 1)
    report = scan(Options(paths=(path,), rules=rules_for(rule.code), probe=how))
    assert report.errors == []
    return report


@each
def test_the_run_confirms_the_first_example(rule: Rule, write: Callable[..., Path]) -> None:
    if rule.code in GPU and not torch.cuda.is_available():
        pytest.skip("only a machine with a GPU shows it")
    path = write("train.py", examples.example(rule.page()))
    verdicts = {finding.code: finding.verdict for finding in probed(rule, path).findings}
    assert verdicts == {rule.code: UNDECIDED.get(rule.code, Verdict.CONFIRMED)}


@each
def test_the_run_of_the_second_example_ends_without_a_finding(rule: Rule, write: Callable[..., Path]) -> None:
    path = write("train.py", examples.instead(rule.page()))
    report = probed(rule, path)
    assert report.findings == []
    assert rule.code in DRAWN or [warning for warning in report.warnings if "fails" in warning] == []
