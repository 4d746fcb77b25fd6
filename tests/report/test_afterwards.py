"""What follows findings that were shown before the scripts ran: their verdicts, and whole what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.afterwards import FOR_PEOPLE, render, shown
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Evidence, Verdict

if TYPE_CHECKING:
    from torch_doctor.rule import Finding

PLAIN = Look(Paint(colours=False))


def test_a_finding_that_was_shown_gets_its_verdict_and_a_new_one_is_shown_whole(backward: Finding) -> None:
    judged = backward.with_verdict(Verdict.CONFIRMED, (Evidence("it is 3 ×"), Evidence("and 4 ×")))
    where = f"{backward.site}: {backward.code} {backward.name}"
    before = {shown(backward)}
    assert render("concise", before)(Reported([judged]), PLAIN) == f"{where} [confirmed]\n"
    assert render("full", before)(Reported([judged]), PLAIN) == (
        f"{where}\n    = probe: confirmed: it is 3 ×\n    =        and 4 ×\n\n"
    )
    assert render("short", before)(Reported([judged]), PLAIN) == (
        f"{backward.site}: error[{backward.code}]\n    = probe: confirmed: it is 3 ×\n"
    )
    assert render("concise", ())(Reported([judged]), PLAIN) == f"{where}: {backward.message} [confirmed]\n"


def test_where_nothing_could_be_run_nothing_follows(backward: Finding) -> None:
    for name in FOR_PEOPLE:
        assert render(name, {shown(backward)})(Reported([backward]), PLAIN) == ""
