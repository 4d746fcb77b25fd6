"""What the probe says of a finding, in every format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.report import concise, full, github, records, sarif
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.report.verdict_words import NOT_REACHED, sentence
from torch_doctor.rule import Evidence, Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = Look(Paint(colours=False))
CLAIMS = ("the gradient at step 2 is 3.1 × this batch's own gradient", "the gradient at step 3 is 4 × its own")


@pytest.fixture
def judged(backward: Finding) -> Callable[[Verdict], Finding]:
    def give(verdict: Verdict) -> Finding:
        if verdict is Verdict.NOT_REACHED:
            return backward.with_verdict(verdict, ())
        if verdict is Verdict.UNDECIDED:
            return backward.with_verdict(verdict, (Evidence("perhaps on purpose"),))
        return backward.with_verdict(verdict, tuple(Evidence(claim, 3.1, "×", backward.site) for claim in CLAIMS))

    return give


@pytest.mark.parametrize("verdict", Verdict)
def test_a_line_ends_with_the_verdict(judged: Callable[[Verdict], Finding], verdict: Verdict) -> None:
    assert concise.render(Reported([judged(verdict)]), PLAIN).endswith(f" [{verdict.value}]\n")


def test_the_frame_shows_the_evidence_above_the_remedy(judged: Callable[[Verdict], Finding]) -> None:
    rows = full.render(Reported([judged(Verdict.CONFIRMED)]), PLAIN).splitlines()
    first = next(number for number, row in enumerate(rows) if "= probe:" in row)
    assert [row.strip() for row in rows[first : first + 3]] == [
        f"= probe: confirmed: {CLAIMS[0]}",
        f"=        {CLAIMS[1]}",
        rows[first + 2].strip(),
    ]
    assert rows[first + 2].strip().startswith("= help: ")


def test_what_was_not_reached_is_no_pass(judged: Callable[[Verdict], Finding]) -> None:
    assert f"probe: not-reached: {NOT_REACHED}" in full.render(Reported([judged(Verdict.NOT_REACHED)]), PLAIN)


def test_a_verdict_is_painted(judged: Callable[[Verdict], Finding]) -> None:
    shown = full.render(Reported([judged(Verdict.REFUTED)]), Look(Paint(colours=True)))
    assert "\x1b[" in shown.partition("probe: ")[2].partition("refuted")[0] + shown.partition("refuted")[2][:6]


def test_a_finding_that_nobody_probed_has_no_word_of_it(backward: Finding) -> None:
    assert sentence(backward) == ""
    assert "probe" not in full.render(Reported([backward]), PLAIN)
    assert records.record(backward)["verdict"] is None


@pytest.mark.parametrize(
    ("verdict", "kind", "level"),
    [
        (Verdict.CONFIRMED, None, "error"),
        (Verdict.REFUTED, "pass", "none"),
        (Verdict.NOT_REACHED, None, "error"),
        (Verdict.UNDECIDED, None, "error"),
    ],
)
def test_a_code_scanning_service_gets_no_alert_of_what_is_refuted(
    judged: Callable[[Verdict], Finding], verdict: Verdict, kind: str | None, level: str
) -> None:
    log: dict[str, Any] = json.loads(sarif.render(Reported([judged(verdict)]), PLAIN))
    (result,) = log["runs"][0]["results"]
    assert (result.get("kind"), result["level"]) == (kind, level)
    assert result["properties"]["verdict"] == verdict.value
    assert result["message"]["text"].endswith(sentence(judged(verdict)))


def test_evidence_in_sarif_has_its_place(judged: Callable[[Verdict], Finding]) -> None:
    finding = judged(Verdict.CONFIRMED)
    log: dict[str, Any] = json.loads(sarif.render(Reported([finding]), PLAIN))
    assert log["runs"][0]["results"][0]["properties"]["evidence"][0] == {
        "claim": CLAIMS[0],
        "value": 3.1,
        "unit": "×",
        "site": str(finding.site),
    }


def test_an_annotation_of_what_is_refuted_is_a_notice(judged: Callable[[Verdict], Finding]) -> None:
    assert github.render(Reported([judged(Verdict.CONFIRMED)]), PLAIN).startswith("::error ")
    refuted = github.render(Reported([judged(Verdict.REFUTED)]), PLAIN)
    assert refuted.startswith("::notice ")
    assert "probe: refuted: the gradient at step 2" in refuted
