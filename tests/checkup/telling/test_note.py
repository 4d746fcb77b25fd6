"""The readiness note of a checkup."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from tests.checkup.telling.conftest import HOSTILE, rung
from torch_doctor.checkup.outcome import RUNGS, Checkup, Rung
from torch_doctor.checkup.telling.note import escaped, note

if TYPE_CHECKING:
    from markdown_it.token import Token

MARKDOWN = MarkdownIt("commonmark").enable("table")


def tokens(checked: Checkup) -> list[Token]:
    return MARKDOWN.parse(note(checked))


def headings(found: list[Token]) -> list[str]:
    return [after.content for one, after in itertools.pairwise(found) if one.type == "heading_open"]


def test_it_has_evidence_risks_open_points_and_what_to_copy(ordinary: Checkup) -> None:
    titles = headings(tokens(ordinary))
    assert titles[1:5] == ["At a glance", "Evidence", "Risks", "Open points"]
    assert "Inspect: to copy" in titles


def test_each_rung_is_a_row_of_the_evidence(ordinary: Checkup) -> None:
    rows = [each for each in tokens(ordinary) if each.type == "tr_open"]
    assert len(rows) >= 1 + len(RUNGS)


def test_a_reason_of_several_rungs_is_given_once_in_each_part() -> None:
    text = note(Checkup("train.py", [], "cpu", [Rung(name, "skipped", "train.py fails") for name in RUNGS]))
    evidence, points = text.partition("## Open points")[::2]
    assert "was skipped: train.py fails." in points
    assert points.count("was skipped for the same reason.") == evidence.count("for the same reason") == len(RUNGS) - 1


def test_the_text_of_a_script_means_nothing_to_markdown(ordinary: Checkup) -> None:
    inline = [child for each in tokens(ordinary) for child in each.children or ()]
    assert not {"html_inline", "em_open", "strong_open_", "image"} & {each.type for each in inline}
    links = {each.attrs["href"] for each in inline if each.type == "link_open"}
    assert all(str(link).startswith("https://torch-doctor.github.io/") for link in links)
    assert not [each for each in tokens(ordinary) if each.type == "html_block"]
    assert any("<script>" in each.content for each in inline)


@pytest.mark.parametrize(
    "text", [HOSTILE, "- a", "1. a", "# a", "a\n\nb", "a ` b", "a | b", "\\", "`a|b`", "> a", "+ b"]
)
def test_escaped_text_is_one_paragraph_that_reads_as_it_was_written(text: str) -> None:
    found = MARKDOWN.parse(escaped(text))
    assert [each.type for each in found] == ["paragraph_open", "inline", "paragraph_close"]
    read = "".join(child.content for child in found[1].children or ())
    assert read.replace("`", "") == " ".join(text.split()).replace("`", "")


def test_code_that_holds_a_fence_stays_code(ordinary: Checkup) -> None:
    [fence] = [each for each in tokens(ordinary) if each.type == "fence"]
    assert fence.content == "assert x.shape == (1, 2)  # ``` <b>\n"


def test_what_was_skipped_or_has_no_verdict_is_an_open_point(ordinary: Checkup) -> None:
    text = note(ordinary).partition("## Open points")[2]
    assert "was skipped" in text
    assert "has no verdict" in text
    assert "a stand\\-in" in text or "a stand-in" in text


def test_nothing_is_at_risk_where_nothing_was_found() -> None:
    text = note(Checkup("train.py", [], "cpu", [rung("inspect", "passed")]))
    assert "## Risks\n\nNone.\n\n## Open points\n\nNone.\n" in text
