"""What speaks for and against each cause."""

from __future__ import annotations

import pytest

from tests.checkup.telling.conftest import finding
from torch_doctor.checkup.causes import Cause
from torch_doctor.checkup.diagnosing import LIKELY, OPEN, POSSIBLE, PROVED, UNLIKELY, answers, others
from torch_doctor.checkup.linking import preventing
from torch_doctor.checkup.outcome import Checkup, Fact, Rung, Status
from torch_doctor.checkup.symptoms import Symptom
from torch_doctor.rule import Finding, Verdict

OVERFIT, RANGE = "overfit-one-batch", "learning-rate"
GRADIENTS = Cause("gradients are not cleared", ("TDR101",), (OVERFIT,), ("does not fall",), (OVERFIT,))
RATE = Cause("the rate does not fit", ("TDR123",), (RANGE,), ("steps too large", "steps too small"), (RANGE,))
SYMPTOM = Symptom("it does not learn", "", (), (RATE, GRADIENTS), (OVERFIT, RANGE))
LATER = Symptom("it breaks in epoch 8", "", (), (RATE, GRADIENTS))


def checked(*findings: Finding, overfit: Rung | None = None, rate: Rung | None = None) -> Checkup:
    rungs = [overfit or Rung(OVERFIT, "shown", "as it was"), rate or Rung(RANGE, "passed", "as it is")]
    return Checkup("train.py", [], "cpu", rungs, list(findings))


def told(one: Checkup, symptom: Symptom = SYMPTOM) -> list[tuple[str, int]]:
    return [(answer.cause.what, answer.likelihood) for answer in answers(symptom, one)]


def test_what_is_confirmed_comes_first() -> None:
    assert told(checked(finding())) == [(GRADIENTS.what, PROVED), (RATE.what, UNLIKELY)]


def test_what_nothing_decides_comes_before_what_is_unlikely() -> None:
    assert told(checked()) == [(GRADIENTS.what, OPEN), (RATE.what, UNLIKELY)]


def test_a_rung_that_passes_is_no_evidence_where_the_symptom_would_not_have_shown() -> None:
    assert told(checked(), LATER) == [(RATE.what, OPEN), (GRADIENTS.what, OPEN)]


def test_a_failure_makes_the_cause_of_its_kind_likely() -> None:
    one = checked(
        overfit=Rung(OVERFIT, "failed", "it stays", about=["does not fall"]), rate=Rung(RANGE, "shown", "as it is")
    )
    assert told(one) == [(GRADIENTS.what, LIKELY), (RATE.what, OPEN)]


def test_a_failure_of_another_kind_is_no_evidence() -> None:
    one = checked(overfit=Rung(OVERFIT, "failed", "it is nan", about=["not finite"]))
    [gradients, _] = answers(SYMPTOM, one)
    assert gradients.likelihood == OPEN
    assert gradients.speaks_for == gradients.speaks_against == []


@pytest.mark.parametrize(("status", "kind"), [("failed", "steps too large"), ("shown", "steps too small")])
def test_a_loss_that_falls_at_another_rate_supports_the_rate_and_contradicts_the_rest(
    status: Status, kind: str
) -> None:
    one = checked(overfit=Rung(OVERFIT, status, "it falls at 10 times the rate", about=[kind]))
    [rate, gradients] = answers(SYMPTOM, one)
    assert (rate.cause, rate.likelihood) == (RATE, LIKELY)
    assert (gradients.cause, gradients.likelihood) == (GRADIENTS, UNLIKELY)
    assert "it falls at 10 times the rate" in gradients.speaks_against[0]


def test_a_finding_that_no_run_confirmed_makes_it_possible() -> None:
    assert told(checked(finding(verdict=None)))[0] == (GRADIENTS.what, POSSIBLE)


def test_a_finding_that_was_refuted_speaks_against() -> None:
    one = checked(finding(verdict=Verdict.REFUTED))
    [_, gradients] = answers(SYMPTOM, one)
    assert gradients.likelihood == UNLIKELY
    assert gradients.speaks_against == ["TDR101 at train.py:7:5 is refuted"]
    assert not gradients.speaks_for


def test_no_finding_is_no_evidence() -> None:
    [gradients, _] = answers(SYMPTOM, checked())
    assert "no findings of TDR101" in gradients.open
    assert not gradients.speaks_against


def test_what_is_equally_likely_stays_in_the_order_of_the_table() -> None:
    assert [name for name, _ in told(checked(rate=Rung(RANGE, "skipped", "no time")))] == [RATE.what, GRADIENTS.what]


def test_findings_of_no_listed_cause_are_left() -> None:
    one = checked(finding(), finding("TDR402"), finding("TDR712", verdict=Verdict.REFUTED))
    assert [each.code for each in others(answers(SYMPTOM, one), one.findings)] == ["TDR402"]


def slow(updates: int, status: Status = "shown") -> Rung:
    return Rung("overfit-one-batch", status, "it falls slowly", [Fact("optimizer steps", updates)])


def test_a_confirmed_bug_explains_why_a_batch_was_not_memorised() -> None:
    assert preventing(slow(300), [finding()]) == [finding()]
    assert preventing(slow(300), [finding(verdict=None), finding("TDR601")]) == []
    assert preventing(slow(5), [finding()]) == []
    assert preventing(slow(300, "passed"), [finding()]) == []
