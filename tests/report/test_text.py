"""The formats for people: full, short and concise, and the frames of source in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from torch_doctor.edits import Change, Proposal
from torch_doctor.report import concise, full, grouped, short, statistics
from torch_doctor.report.formats import FORMATS, renderer
from torch_doctor.report.frame import Mark, frame
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import Evidence, Verdict
from torch_doctor.sources.source import SourceFile
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from torch_doctor.rule import Finding

PLAIN = Look(Paint())
COLOURED = Look(Paint(colours=True))
ESCAPES = re.compile(r"\x1b\[[\d;]*m")


def test_concise_is_a_line_per_finding(reported: Reported) -> None:
    assert concise.render(reported, PLAIN).splitlines() == [
        "train.ipynb:cell 3:1:1: TDR601 whole-model-saved: `torch.save` pickles, 100% of `model`",
        "train.py:5:5: TDR101 missing-zero-grad: nothing clears the gradients of `model` before `loss.backward()`",
    ]


@pytest.mark.parametrize(("safe", "sign"), [(True, "[*]"), (False, "[*unsafe]")])
def test_concise_and_grouped_mark_what_can_be_fixed(backward: Finding, safe: bool, sign: str) -> None:
    fixed = Reported([replace(backward, fix=Proposal((Change(backward.site, ""),), safe=safe))])
    for module in (concise, grouped):
        assert f"TDR101 missing-zero-grad {sign}: nothing clears" in module.render(fixed, PLAIN)
        assert "*" not in module.render(Reported([backward]), PLAIN)


def test_full_shows_source_trail_and_help(reported: Reported) -> None:
    assert full.render(reported, PLAIN) == (
        """\
warning[TDR601] whole-model-saved: `torch.save` pickles, 100% of `model`
   --> train.ipynb:cell 3:1:1
  1 | torch.save(
    | ^^^^^^^^^^^
  2 |     model,
  3 |     path,
  4 | )

error[TDR101] missing-zero-grad: nothing clears the gradients of `model` before `loss.backward()`
   --> train.py:5:5
  3 | for x, y in loader:
    | ------------------- 1. the batch loop begins here
  4 |     loss = criterion(model(x), y)
  5 |     loss.backward()
    |     ^^^^^^^^^^^^^^^
  6 |     optimizer.step()
   --> model.py
  3 |         name = "日本語"; return F.softmax(x)
    |                                 ------------ 2. the output of `model` is made here
    = help: call `optimizer.zero_grad()` before the forward pass of every batch

"""
    )


def test_short_shows_the_marked_line_and_the_help(reported: Reported) -> None:
    assert short.render(reported, PLAIN) == (
        """\
train.ipynb:cell 3:1:1: warning[TDR601] `torch.save` pickles, 100% of `model`
  1 | torch.save(
    | ^^^^^^^^^^^
train.py:5:5: error[TDR101] nothing clears the gradients of `model` before `loss.backward()`
  5 |     loss.backward()
    |     ^^^^^^^^^^^^^^^
    = help: call `optimizer.zero_grad()` before the forward pass of every batch
"""
    )


def test_short_gives_the_carets_up_for_the_verdict_with_its_number(reported: Reported, backward: Finding) -> None:
    evidence = (Evidence("it was seen"), Evidence("the gradient is 1.92 × its own", 1.92), Evidence("and 3 ×", 3))
    fix = Proposal((Change(Site("train.py", 5, 5, 5, 5), "optimizer.zero_grad()\n"),), safe=True)
    judged = replace(backward.with_verdict(Verdict.CONFIRMED, evidence), fix=fix)
    assert short.render(replace(reported, findings=[judged]), PLAIN) == (
        """\
train.py:5:5: error[TDR101] nothing clears the gradients of `model` before `loss.backward()`
  5 |     loss.backward()
    = probe: confirmed: the gradient is 1.92 × its own
    = help: call `optimizer.zero_grad()` before the forward pass of every batch (--fix)
"""
    )


@pytest.mark.parametrize("verdict", [None, *Verdict])
@pytest.mark.parametrize("width", [None, 40])
def test_short_takes_at_most_four_lines_a_finding(
    reported: Reported, verdict: Verdict | None, width: int | None
) -> None:
    for finding in reported.findings:
        judged = finding if verdict is None else finding.with_verdict(verdict, (Evidence("a", 1), Evidence("b", 2)))
        text = short.render(replace(reported, findings=[judged]), replace(PLAIN, width=width))
        assert 3 <= text.count("\n") <= 4
        assert all(line.startswith(" ") for line in text.splitlines()[1:])


def test_colours_change_nothing_but_colours(reported: Reported) -> None:
    for module in (full, short, concise, statistics):
        coloured = module.render(reported, COLOURED)
        assert coloured != module.render(reported, PLAIN)
        assert ESCAPES.sub("", coloured) == module.render(reported, PLAIN)


def test_a_narrow_terminal_gets_narrow_text(reported: Reported) -> None:
    text = full.render(reported, replace(PLAIN, width=40))
    assert max(map(cell_len, text.splitlines())) <= 40
    assert "help: call `optimizer.zero_grad()`" in text


def test_a_file_that_cannot_be_shown_is_still_named(backward: Finding) -> None:
    text = full.render(Reported([backward]), PLAIN)
    assert "error[TDR101]" in text
    assert "--> train.py:5:5\n" in text
    assert "--> model.py\n" in text
    assert "model.py:3:24: 2. the output" in text


def framed(line: str, column: int, end: int, width: int | None = None) -> list[str]:
    file = SourceFile(Path("/a.py"), "a.py", line)
    return frame([caret(Site("a.py", 1, column, 1, end))], file, Look(Paint(), width), 3)


def caret(site: Site, label: str = "") -> Mark:
    return Mark(site, "^", "red", 2, label)


def marked(lines: list[str]) -> str:
    """The part of the source line that stands above the mark."""
    text, mark = lines
    start = mark.index("^")
    return text[start : start + mark.count("^")]


def test_the_mark_stands_below_its_place() -> None:
    assert marked(framed("x = model(y)", 5, 10)) == "model"


def test_a_tab_is_four_columns_wide() -> None:
    assert marked(framed("\tx = model(y)", 6, 11)) == "model"


def test_a_place_far_to_the_right_is_moved_into_sight() -> None:
    line = "x = " + "a + " * 100 + "model(y)" + " + b" * 100
    column = line.index("model") + 1
    lines = framed(line, column, column + 5, width=60)
    assert marked(lines) == "model"
    assert max(map(len, lines)) <= 60


def test_a_row_without_end_is_cut_even_where_no_width_is_known() -> None:
    line = "x = [" + "1, " * 100_000 + "model(y)]"
    column = line.index("model") + 1
    lines = framed(line, column, column + 5)
    assert marked(lines) == "model"
    assert max(map(len, lines)) <= 300


def test_control_characters_do_not_reach_the_terminal() -> None:
    lines = framed("x = '\x1b[31m\x07\u202e'", 1, 2)
    assert "\x1b" not in lines[0]
    assert "\x07" not in lines[0]
    assert "\u202e" not in lines[0]


def test_rows_of_another_cell_are_not_shown(reported: Reported) -> None:
    assert "a = 1" not in full.render(reported, PLAIN)


def test_a_row_that_is_not_there_shows_nothing() -> None:
    file = SourceFile(Path("/a.py"), "a.py", "x = 1")
    assert frame([caret(Site("a.py", 9, 1, 9, 2))], file, PLAIN, 3) == []


def test_each_row_is_shown_once_with_all_that_is_marked_in_it() -> None:
    file = SourceFile(Path("/a.py"), "a.py", "\n".join(f"row {number} and more" for number in range(1, 12)))
    sites = [Site("a.py", row, 1, row, 4) for row in (2, 2, 4, 9)]
    marks = [Mark(site, "-", "cyan", 0, f"{number}. here") for number, site in enumerate(sites, start=1)]
    marks.append(Mark(Site("a.py", 9, 5, 9, 6), "-", "cyan", 0, "there"))
    assert frame(marks, file, PLAIN, 3) == [
        "  2 | row 2 and more",
        "    | --- 1. here; 2. here",
        "  3 | row 3 and more",
        "  4 | row 4 and more",
        "    | --- 3. here",
        "    ⋮",
        "  9 | row 9 and more",
        "    | --- 4. here",
        "    |     - there",
    ]


def test_a_label_without_room_goes_below_between_words() -> None:
    file = SourceFile(Path("/a.py"), "a.py", "loss.backward()")
    mark = caret(Site("a.py", 1, 1, 1, 16), "the gradients are computed here for each batch")
    assert frame([mark], file, Look(Paint(), 36), 3)[1:] == [
        "    | ^^^^^^^^^^^^^^^",
        "    | the gradients are computed",
        "    | here for each batch",
    ]


@given(
    st.text(alphabet="ab \t(日é\u0301", min_size=1, max_size=60),
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(20, 80),
)
def test_no_frame_is_wider_than_the_terminal(line: str, column: int, length: int, width: int) -> None:
    for shown in framed(line, min(column, len(line)), column + length, width):
        assert cell_len(shown) <= max(width, 26)


def test_statistics_count_by_rule(reported: Reported, backward: Finding) -> None:
    more = Reported([*reported.findings, backward])
    assert statistics.render(more, PLAIN) == "2  TDR101  missing-zero-grad\n1  TDR601  whole-model-saved\n"


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_rendered_with_and_without_findings(name: str, reported: Reported) -> None:
    assert renderer(name)(reported, PLAIN)
    renderer(name)(Reported([]), PLAIN)
    assert renderer(name, statistics=True)(reported, PLAIN)
