"""The examples of every rule's page, run: the first is what a run confirms, the second what it finds nothing in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import torch

from tests.marks import rules_for
from torch_doctor.probing import Probing
from torch_doctor.rule import Rule, Verdict, all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)

each = pytest.mark.parametrize(
    "rule", [rule for rule in all_rules() if "P" in rule.witness], ids=lambda rule: rule.code
)

UNDECIDED = dict.fromkeys(("TDR804",), Verdict.UNDECIDED)
"""Rules of whose examples a run cannot tell: moves that change nothing on the CPU."""

GPU = frozenset(("TDR810",))
"""Rules whose examples only a machine with a GPU can tell."""

TWO = frozenset(("TDR809", "TDR814"))
"""Rules of whose examples one process cannot tell, and two can."""

pytestmark = pytest.mark.usefixtures("farm", "records")


def probed(rule: Rule, path: Path) -> dict[str, Verdict | None]:
    """The code of each finding with its verdict."""
    how = Probing(seconds=60, processes=2 if rule.code in TWO else 1)
    report = scan(Options(paths=(path,), rules=rules_for(rule.code), probe=how))
    assert report.errors == []
    return {finding.code: finding.verdict for finding in report.findings}


@each
def test_the_run_confirms_the_first_example(rule: Rule, write: Callable[..., Path]) -> None:
    if rule.code in GPU and not torch.cuda.is_available():
        pytest.skip("only a machine with a GPU shows it")
    path = write("train.py", BLOCK.findall(rule.page())[0])
    assert probed(rule, path) == {rule.code: UNDECIDED.get(rule.code, Verdict.CONFIRMED)}


@each
def test_the_run_finds_nothing_in_the_second_example(rule: Rule, write: Callable[..., Path]) -> None:
    path = write("train.py", BLOCK.findall(rule.page())[1])
    assert probed(rule, path) == {}
