"""What is said of rules: pages and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look
from torch_doctor.report.rule_pages import markdown_table, page, record, text_table

if TYPE_CHECKING:
    from torch_doctor.rule import Rule


def test_a_page_begins_with_what_the_rule_is(rules: tuple[Rule, ...]) -> None:
    assert page(rules[1]).startswith(
        "# missing-zero-grad (TDR101)\n\n"
        "Level: error: training or evaluation is wrong  \n"
        "Witness: static and runtime: found in the source code, confirmed or refuted with `--probe`  \n"
        "Fix: unsafe; may change any figure\n\n"
        "Stand-in that dislikes every `backward()`.\n\n"
        "## Why is this bad?\n"
    )


def test_a_record_has_everything(rules: tuple[Rule, ...]) -> None:
    made = record(rules[2])
    assert made["code"] == "TDR601"
    assert (made["name"], made["level"], made["witness"]) == ("whole-model-saved", "W", "S")


def test_the_markdown_table_has_a_row_per_rule(rules: tuple[Rule, ...]) -> None:
    lines = markdown_table(rules).splitlines()
    assert len(lines) == 2 + len(rules)
    assert lines[3] == "| TDR101 | missing-zero-grad | Stand-in that dislikes every `backward()` | E | SP |"


def test_the_text_table_fits_a_terminal(rules: tuple[Rule, ...]) -> None:
    wide = text_table(rules, Look(Paint())).splitlines()
    narrow = text_table(rules, Look(Paint(), 70)).splitlines()
    assert wide[1] == "TDR101  E  SP  missing-zero-grad  Stand-in that dislikes every `backward()`"
    assert max(map(len, narrow)) <= 70
    assert narrow[1].endswith("…")
