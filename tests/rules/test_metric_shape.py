from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import Compared, Kind, Matched, Ranked, Source, TensorFact
from torch_doctor_rules.evaluation.metric_shape import MetricShape

if TYPE_CHECKING:
    from .conftest import Script

COMPARISON = "predicted == y"
ROW, COLUMN = ("batch",), ("batch", 1)


@pytest.mark.parametrize(("left", "right"), [(ROW, COLUMN), (COLUMN, ROW)])
def test_a_row_and_a_column_make_all_pairs(
    script: Script, left: tuple[int | str, ...], right: tuple[int | str, ...]
) -> None:
    sides = {"left_at": script.at("predicted"), "right_at": script.at("y")}
    script.add(Matched, COMPARISON, left=TensorFact(shape=left), right=TensorFact(shape=right), **sides)
    assert script.found(MetricShape) == [COMPARISON]
    [finding] = script.findings(MetricShape)
    column = sides["left_at" if left == COLUMN else "right_at"]
    assert [(edit.site, edit.code) for edit in finding.edits] == [(column, "{}.squeeze(1)")]  # type: ignore[union-attr]


@pytest.mark.parametrize(("left", "right"), [(ROW, ROW), (("batch", 3), COLUMN), ((1,), (1, 1)), (None, COLUMN)])
def test_shapes_that_match_or_are_not_known_make_none(
    script: Script, left: tuple[int | str, ...] | None, right: tuple[int | str, ...]
) -> None:
    script.add(Matched, COMPARISON, left=TensorFact(shape=left), right=TensorFact(shape=right))
    assert script.found(MetricShape) == []


@pytest.mark.parametrize(("scores", "found"), [(1, [COMPARISON]), (2, []), (None, [])])
def test_the_largest_of_one_score_is_always_the_first(script: Script, scores: int | None, found: list[str]) -> None:
    forward = script.forward(script.model())
    given = TensorFact(kind=Kind.LOGITS, forwards=frozenset((forward.index,)), shape=("batch", scores))
    choice = script.add(Ranked, "out.argmax(1)", function="torch.argmax", input=given, dim=1)
    labels = TensorFact(kind=Kind.LABELS, source=Source.LOADER)
    script.add(Compared, COMPARISON, chosen=choice.index, target=labels)
    assert script.found(MetricShape) == found
