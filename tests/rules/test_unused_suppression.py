from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Comment
from torch_doctor.trace import SuppressionUnused
from torch_doctor_rules.operation.unused_suppression import UnusedSuppression

if TYPE_CHECKING:
    from .conftest import Script


def test_names_that_find_nothing_are_told(script: Script) -> None:
    script.add(SuppressionUnused, "# noqa: TDR101, TDR102", names=("TDR101", "TDR102"), instead="")
    [finding] = script.findings(UnusedSuppression)
    assert finding.message == "unused suppression: `TDR101`, `TDR102` report nothing here"
    assert finding.help == "remove the comment"
    assert finding.edits == (Comment(finding.site, ""),)


def test_a_name_that_is_nearly_one_of_a_rule_is_not_taken_out(script: Script) -> None:
    script.add(SuppressionUnused, "# noqa: TDR1O1", unknown=(("TDR1O1", "TDR101"),))
    [finding] = script.findings(UnusedSuppression)
    assert finding.message == "unused suppression: there is no rule `TDR1O1`"
    assert (finding.help, finding.edits) == ("write `TDR101`", ())


def test_a_comment_for_a_whole_file_is_called_one(script: Script) -> None:
    names = ("missing-zero-grad",)
    script.add(SuppressionUnused, "# torch-doctor: ignore-file", names=names, whole_file=True, instead="")
    [finding] = script.findings(UnusedSuppression)
    assert finding.message == "unused suppression: `missing-zero-grad` reports nothing in this file"


def test_other_events_are_silent(script: Script) -> None:
    script.model()
    assert script.found(UnusedSuppression) == []
