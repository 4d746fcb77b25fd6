"""The ledger remembers judgements, and two people can write into it."""

from __future__ import annotations

import pytest

from tests.ecosystem.ledger import (
    FOUND,
    GONE,
    JUDGEMENTS,
    LEDGER,
    MOST_WORDS,
    UNJUDGED,
    Entry,
    JudgementError,
    Ledger,
)
from tests.ecosystem.repositories import HALVES, KINDS, LIST, listed
from tests.ecosystem.scanning import Found

ONE = Found("owner/name", "train.py", "TDR101", "0123456789ab-1", "E", 7)
OTHER = Found("owner/name", "eval.py", "TDR401", "ba9876543210-1", "E", 3)
SHORTEST_LIST = 120


def recorded(*findings: Found) -> Ledger:
    ledger = Ledger()
    ledger.record(findings, ["owner/name"])
    return ledger


def test_what_is_written_is_read_again() -> None:
    ledger = recorded(ONE, OTHER)
    ledger.take(f"{ONE.fingerprint} false the closure clears them")
    again = Ledger.read(ledger.text())
    assert again.entries == ledger.entries
    assert again.text() == ledger.text()


def test_lines_are_sorted_whatever_the_order_of_the_scan() -> None:
    assert recorded(ONE, OTHER).text() == recorded(OTHER, ONE).text()


def test_a_judgement_stays_when_the_scan_is_recorded_again() -> None:
    ledger = recorded(ONE)
    ledger.take(f"{ONE.fingerprint} true nothing clears the gradients")
    ledger.record([ONE], ["owner/name"])
    assert ledger.entries[ONE.fingerprint] == Entry(
        "owner/name", "train.py", "TDR101", ONE.fingerprint, "E", FOUND, "true", "nothing clears the gradients"
    )


def test_a_finding_that_is_gone_keeps_its_judgement_and_comes_back_with_it() -> None:
    ledger = recorded(ONE)
    ledger.take(f"{ONE.fingerprint} false the closure clears them")
    ledger.record([], ["owner/name"])
    assert ledger.entries[ONE.fingerprint].state == GONE
    ledger.record([ONE], ["owner/name"])
    assert (ledger.entries[ONE.fingerprint].state, ledger.judged(ONE.fingerprint)) == (FOUND, "false")


def test_what_is_gone_and_was_never_judged_is_forgotten() -> None:
    ledger = recorded(ONE)
    ledger.record([], ["owner/name"])
    assert ledger.entries == {}


def test_repositories_that_were_not_scanned_are_left_as_they_are() -> None:
    ledger = recorded(ONE)
    ledger.record([], ["another/one"])
    assert ledger.entries[ONE.fingerprint].state == FOUND


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ffffffffffff-1 true it is", "no such finding"),
        (f"{ONE.fingerprint} maybe it is", "none of true, trivial, false"),
        (f"{ONE.fingerprint} {UNJUDGED} it is", "none of true, trivial, false"),
        (f"{ONE.fingerprint} false", "why, in one to 15 words"),
        (f"{ONE.fingerprint} false {'word ' * 16}", "why, in one to 15 words"),
    ],
)
def test_a_line_that_is_no_judgement_is_refused_and_nothing_is_entered(line: str, message: str) -> None:
    ledger = recorded(ONE, OTHER)
    with pytest.raises(JudgementError, match=message):
        ledger.take(f"{OTHER.fingerprint} true it is\n{line}\n")
    assert ledger.judged(OTHER.fingerprint) == UNJUDGED


def test_comments_and_blank_lines_among_judgements_are_left_out() -> None:
    assert recorded(ONE).take(f"# by reading\n\n{ONE.fingerprint} trivial  it runs  once\n") == 1


def test_the_list_has_many_repositories_of_all_kinds_in_both_halves() -> None:
    repositories = listed(LIST.read_text(encoding="utf-8"))
    assert len({repository.name for repository in repositories}) == len(repositories) >= SHORTEST_LIST
    assert {(repository.half, repository.kind) for repository in repositories} == {
        (half, kind) for half in HALVES for kind in KINDS
    }
    assert all(len(repository.commit) == len("0" * 40) for repository in repositories)


def test_the_ledger_is_as_it_would_be_written() -> None:
    text = LEDGER.read_text(encoding="utf-8")
    ledger = Ledger.read(text)
    assert ledger.text() == text
    names = {repository.name for repository in listed(LIST.read_text(encoding="utf-8"))}
    for entry in ledger.entries.values():
        assert entry.repository in names
        assert entry.state in {FOUND, GONE}
        assert (entry.judged in JUDGEMENTS) == (0 < len(entry.why.split()) <= MOST_WORDS)
        assert entry.judged in {*JUDGEMENTS, UNJUDGED}
