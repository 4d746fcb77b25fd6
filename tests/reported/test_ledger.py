"""The tables of reported bugs fit together."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from tests.reported.ledger import (
    FAMILIES,
    HITS,
    NOT_RUN,
    QUERIES,
    READ,
    SEALED,
    TAKEN,
    Bug,
    Hit,
    Query,
    read,
    sealed,
    write,
)
from tests.reported.scoring import CONDITIONAL, MISSED, NAMED

if TYPE_CHECKING:
    from pathlib import Path

MOST_WORDS = 25
CODE = re.compile(r"TDR[1-9]\d\d|-")


def bugs() -> list[Bug]:
    return [*read(Bug, READ), *read(Bug, SEALED)]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rows = read(Bug, READ)
    write(rows, Bug, tmp_path / "table.tsv")
    assert (tmp_path / "table.tsv").read_bytes() == READ.read_bytes()
    assert read(Bug, tmp_path / "table.tsv") == rows


def test_half_of_the_queries_are_neutral() -> None:
    kinds = [query.kind == "neutral" for query in read(Query, QUERIES)]
    assert 2 * kinds.count(True) >= len(kinds)


def test_every_hit_of_a_query_is_there_once_in_its_order() -> None:
    ranks = defaultdict(list)
    for hit in read(Hit, HITS):
        ranks[hit.query].append(hit.rank)
    assert set(ranks) <= {query.name for query in read(Query, QUERIES)}
    assert all(found == list(range(1, len(found) + 1)) for found in ranks.values())


def test_every_hit_has_a_reason_for_taking_or_leaving_it() -> None:
    assert all(hit.why for hit in read(Hit, HITS))


@pytest.mark.parametrize(("table", "half"), [(READ, False), (SEALED, True)])
def test_the_hash_of_its_hit_puts_a_bug_into_its_half(table: Path, *, half: bool) -> None:
    assert {sealed(bug.repository, bug.hit) for bug in read(Bug, table)} <= {half}


def test_a_bug_for_every_hit_that_was_taken_and_a_hit_for_every_bug() -> None:
    taken = {(hit.repository, hit.what) for hit in read(Hit, HITS) if hit.why == TAKEN}
    assert {(bug.repository, bug.hit) for bug in bugs()} == taken


def test_codes_look_like_codes() -> None:
    """A bug may have a code that the catalogue has and no rule yet."""
    assert all(CODE.fullmatch(code) for bug in bugs() for code in bug.codes.split(","))


def test_facts_are_short_and_of_the_known_kinds() -> None:
    for bug in bugs():
        assert bug.family in FAMILIES
        assert len(bug.commit) == len("0" * 40)
        assert 0 < len(bug.cause.split()) <= MOST_WORDS
        assert bug.static in {NAMED, CONDITIONAL, MISSED, ""}
        assert bug.probe in {NOT_RUN, NAMED, MISSED}


def test_nothing_is_said_of_the_bugs_of_the_sealed_half() -> None:
    assert {(bug.static, bug.miss) for bug in read(Bug, SEALED)} <= {("", "")}
