"""The numbers of evidence are compared with the verdict that they stand beside."""

from __future__ import annotations

import pytest

from tests.probe.evidence import CLAIMS, contradictions
from torch_doctor.rule import Evidence, Finding, Level, Verdict, all_rules
from torch_doctor.trace import Site


def found(code: str, verdict: Verdict, claim: str) -> Finding:
    finding = Finding(code=code, name="rule", level=Level.ERROR, message="", site=Site("train.py", 1, 1, 1, 2))
    return finding.with_verdict(verdict, (Evidence(claim, 0),))


def test_what_confirms_is_written_down_for_each_rule_that_reads_runs() -> None:
    assert CLAIMS.keys() == {rule.code for rule in all_rules() if "P" in rule.witness}


@pytest.mark.parametrize(
    ("code", "verdict", "claim"),
    [
        ("TDR104", Verdict.CONFIRMED, "6 backward passes, 2 steps of the optimizer"),
        ("TDR401", Verdict.CONFIRMED, "the same batch gave 0.333 and 0.333"),
        ("TDR305", Verdict.CONFIRMED, "called directly 4 times, skipping 0 hooks"),
        ("TDR501", Verdict.CONFIRMED, "of 2 graphs stored, none is alive one iteration later"),
        ("TDR105", Verdict.REFUTED, "0 of the first 3 steps had a gradient to apply"),
        ("TDR405", Verdict.CONFIRMED, "1,024 samples in batches of 32: the last one has 32"),
        ("TDR602", Verdict.REFUTED, "3 optimizer steps changed these tensors after they were stored"),
        ("TDR101", Verdict.CONFIRMED, "nobody knows what this is"),
    ],
)
def test_evidence_that_says_otherwise_is_named(code: str, verdict: Verdict, claim: str) -> None:
    (said,) = contradictions(found(code, verdict, claim))
    assert claim in said


@pytest.mark.parametrize(
    ("code", "verdict", "claim"),
    [
        ("TDR104", Verdict.CONFIRMED, "1,200 backward passes, 0 steps of the optimizer"),
        ("TDR401", Verdict.CONFIRMED, "the same batch gave -0.333 and 1.2e-05"),
        ("TDR501", Verdict.CONFIRMED, "3 graphs alive after 3 steps, 6.2 MB each"),
        ("TDR501", Verdict.REFUTED, "of 2 graphs stored, none is alive one iteration later"),
        ("TDR115", Verdict.CONFIRMED, "`backward()` raises an error: the loss has no graph"),
        ("TDR103", Verdict.UNDECIDED, "nobody knows what this is"),
    ],
)
def test_evidence_that_agrees_is_not(code: str, verdict: Verdict, claim: str) -> None:
    assert list(contradictions(found(code, verdict, claim))) == []
