"""What speaks for and against each cause."""

from __future__ import annotations

from tests.checkup.telling.conftest import finding
from torch_doctor.checkup.causes import Cause
from torch_doctor.checkup.diagnosing import LIKELY, OPEN, POSSIBLE, PROVED, UNLIKELY, answers
from torch_doctor.checkup.linking import preventing
from torch_doctor.checkup.outcome import Checkup, Fact, Rung, Status
from torch_doctor.checkup.symptoms import Symptom
from torch_doctor.rule import Finding, Verdict

GRADIENTS = Cause("gradients are not cleared", ("TDR101",), ("overfit-one-batch",))
RATE = Cause("the rate does not fit", ("TDR123",), ("learning-rate",))
SYMPTOM = Symptom("it does not learn", "", (), (RATE, GRADIENTS))


def checked(*findings: Finding, overfit: Status = "shown", rate: Status = "passed") -> Checkup:
    rungs = [Rung("overfit-one-batch", overfit, "as it was"), Rung("learning-rate", rate, "as it is")]
    return Checkup("train.py", [], "cpu", rungs, list(findings))


def told(one: Checkup) -> list[tuple[str, int]]:
    return [(answer.cause.what, answer.likelihood) for answer in answers(SYMPTOM, one)]


def test_what_is_confirmed_comes_first() -> None:
    assert told(checked(finding())) == [(GRADIENTS.what, PROVED), (RATE.what, UNLIKELY)]


def test_what_nothing_decides_comes_before_what_is_unlikely() -> None:
    assert told(checked()) == [(GRADIENTS.what, OPEN), (RATE.what, UNLIKELY)]


def test_a_rung_that_failed_makes_its_cause_likely() -> None:
    assert told(checked(overfit="failed", rate="shown")) == [(GRADIENTS.what, LIKELY), (RATE.what, OPEN)]


def test_a_finding_that_no_run_confirmed_makes_it_possible() -> None:
    assert told(checked(finding(verdict=None)))[0] == (GRADIENTS.what, POSSIBLE)


def test_a_finding_that_was_refuted_speaks_against() -> None:
    one = checked(finding(verdict=Verdict.REFUTED), overfit="passed")
    [rate, gradients] = answers(SYMPTOM, one)
    assert rate.likelihood == gradients.likelihood == UNLIKELY
    assert gradients.speaks_against[0] == "TDR101 at train.py:7:5 is refuted"
    assert not gradients.speaks_for


def test_what_is_equally_likely_stays_in_the_order_of_the_table() -> None:
    assert [name for name, _ in told(checked(rate="skipped"))] == [RATE.what, GRADIENTS.what]


def slow(updates: int, status: Status = "shown") -> Rung:
    return Rung("overfit-one-batch", status, "it falls slowly", [Fact("updates", updates)])


def test_a_confirmed_bug_explains_why_a_batch_was_not_memorised() -> None:
    assert preventing(slow(300), [finding()]) == [finding()]
    assert preventing(slow(300), [finding(verdict=None), finding("TDR601")]) == []
    assert preventing(slow(5), [finding()]) == []
    assert preventing(slow(300, "passed"), [finding()]) == []
