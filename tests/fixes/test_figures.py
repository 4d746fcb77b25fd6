"""Two runs of a script are compared value by value, each at its line."""

from __future__ import annotations

import pytest

from torch_doctor.edits import Figure
from torch_doctor.mending.figures import broken, differences, incomparable
from torch_doctor.trace import End, Read, Run, Site

BEFORE = "model = Net()\nloss = total / rows\nprint(loss)\nprint(accuracy)\n"
AFTER = "import torch\nmodel = Net()\nloss = total / batches\nprint(loss)\nprint(accuracy)\n"


def run(*values: tuple[int, str, float | int | str], how: str = "end", capped: int = 0) -> Run:
    reads = [Read(Site("a.py", row, 1, row, 9), "reported", text, {".0": [value]}) for row, text, value in values]
    caps = {Site("a.py", 1, 1, 1, 2): capped} if capped else {}
    return Run(read=reads, end=End(how=how, exception="ValueError: no"), capped=caps)


def said(before: Run, after: Run, *changes: Figure) -> list[str]:
    return [str(each) for each in differences(before, after, {"a.py": (BEFORE, AFTER)}, frozenset(changes))]


def test_a_value_is_looked_up_where_its_line_has_moved() -> None:
    before = run((4, "print(accuracy)", 0.81))
    assert said(before, run((5, "print(accuracy)", 0.81))) == []
    assert said(before, run((5, "print(accuracy)", 0.5))) == [
        "`print(accuracy)` at a.py:5 changed from 0.81 to 0.5 with the same weights"
    ]


def test_what_is_computed_from_the_corrected_expression_may_change_where_the_rule_says_so() -> None:
    before, after = run((3, "print(loss)", 0.1), (4, "", 1.0)), run((4, "print(loss)", 2.0), (5, "", 1.0))
    assert len(said(before, after)) == 1
    assert said(before, after, Figure.HERE) == []
    assert len(said(before, run((4, "print(loss)", 2.0), (5, "", 3.0)), Figure.HERE)) == 1


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        (0.5, 0.50001, True),
        (0.5, 0.51, False),
        ("0.81", "0.82", True),
        ("0.81", "0.83", False),
        ("26", "27", False),
        ("nan", "nan", True),
        ("nan", 0.5, False),
        ("inf", "inf", True),
    ],
)
def test_rounding_is_no_change(was: float | str, now: float | str, same: bool) -> None:
    assert (said(run((4, "", was)), run((5, "", now))) == []) == same


def test_runs_that_were_cut_at_different_places_prove_nothing() -> None:
    assert incomparable(run(capped=3), run(capped=3)) == ""
    assert incomparable(run(capped=3), run(capped=4)) == "the probe left a loop after different numbers of iterations"
    assert incomparable(run(), run(how="stopped")) == "a run did not finish in time"
    assert broken(run(), run(how="exception")) == "ValueError: no"
    assert broken(run(how="exception"), run(how="exception")) == ""
