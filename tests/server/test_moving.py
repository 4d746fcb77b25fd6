"""Where findings of an older text lie in the newer one, whatever was typed between."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygls.workspace import PositionCodec

from torch_doctor.edits import Change, Proposal
from torch_doctor.rule import Finding, Level
from torch_doctor.server.documents import Document, Part
from torch_doctor.server.looking import Ignore, Looked
from torch_doctor.server.moving import Movement
from torch_doctor.server.places import Places
from torch_doctor.trace import Site

LINES = st.lists(st.sampled_from("abc"), min_size=1, max_size=8)


def document(*parts: list[str], names: str = "abc") -> Document:
    return Document(
        "n", Path("n.py"), b"", tuple(Part(name, lines, 1) for name, lines in zip(names, parts, strict=False))
    )


def found(row: int, fixed: int) -> Looked:
    def at(row: int) -> Site:
        return Site("n.py", row, 1, row, 2)

    fix = Proposal((Change(at(fixed), "x"),), safe=True)
    finding = Finding("TDR101", "missing-zero-grad", Level.ERROR, "m", at(row), fix=fix)
    return Looked("n.py", (finding,), ignores=((Ignore("this line", Change(at(row), "#")),),))


@given(LINES, LINES)
def test_a_line_is_the_same_where_it_has_moved_to(older: list[str], newer: list[str]) -> None:
    movement = Movement(document(older), document(newer))
    rows = [movement.moved(Site("n.py", row, 1, row, 2)) for row in range(1, len(older) + 1)]
    assert all(site is None or newer[site.row - 1] == older[row] for row, site in enumerate(rows))
    assert [site.row for site in rows if site] == sorted({site.row for site in rows if site})


@given(LINES, LINES, LINES, LINES)
def test_only_what_was_typed_over_is_lost(above: list[str], old: list[str], new: list[str], below: list[str]) -> None:
    movement = Movement(document([*above, *old, *below]), document([*above, *new, *below]))
    rows = [movement.moved(Site("n.py", row, 1, row, 2)) for row in range(1, len([*above, *old, *below]) + 1)]
    assert rows.count(None) <= len(old)


def test_a_site_over_several_lines_is_lost_where_one_of_them_changes() -> None:
    movement = Movement(document(["a", "b", "c", "d"]), document(["a", "b", "x", "d"]))
    assert movement.moved(Site("n.py", 2, 1, 4, 2)) is None
    assert movement.moved(Site("n.py", 1, 1, 2, 2)) == Site("n.py", 1, 1, 2, 2)


def test_a_cell_is_found_where_cells_before_it_come_and_go() -> None:
    older, newer = document(["a"], ["b"], names="pq"), document(["x"], ["y"], ["z", "b"], names="rsq")
    movement = Movement(older, newer)
    assert movement.moved(Site("n.ipynb", 1, 1, 1, 2, 2)) == Site("n.ipynb", 2, 1, 2, 2, 3)
    assert movement.moved(Site("n.ipynb", 1, 1, 1, 2, 1)) is None


@pytest.mark.parametrize(
    ("newer", "row", "fixed"),
    [
        ("xabcdef", 3, True),
        ("abcdex", 2, True),
        ("abcxdef", 2, False),  # where something was typed, which may be the same
        ("abcdxf", 2, False),
        ("axcdef", None, False),
    ],
)
def test_a_finding_is_offered_a_fix_only_where_nothing_was_typed(newer: str, row: int | None, *, fixed: bool) -> None:
    older = document(list("abcdef"))
    places = Places(older, found(2, 4), PositionCodec(), document(list(newer)))
    told = [(each.site.row, each.fix is not None) for each, _ in places.findings()]
    assert told == ([] if row is None else [(row, fixed)])
