"""How the script's own evaluation scores predictions that are made from the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

RUNG = "metric"
EVALUATION = """
    correct = 0
    with torch.no_grad():
        for images, labels in val_loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    print("accuracy", {figure})
"""
TAIL = TRAINING[TRAINING.index("    with torch.no_grad()") :]


def evaluated(figure: str) -> str:
    return broken(TAIL, EVALUATION.format(figure=figure))


def test_an_accuracy_that_perfect_predictions_complete_passes(climb: Climb) -> None:
    rung = climb(evaluated("correct / len(val_loader.dataset)"), RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "passed", rung.reason
    assert values(rung, "perfect predictions") == [1.0]
    assert [plot.kind for plot in rung.plots] == ["bars"]
    assert rung.plots[0].names[0] == "model"


@pytest.mark.parametrize("divisor", ["len(val_loader)", "len(labels)"])
def test_a_figure_that_cannot_be_right_fails(climb: Climb, divisor: str) -> None:
    rung = climb(evaluated(f"correct / {divisor}"), RUNG, verdicts=True, codes=("TDR412",))
    assert rung.status == "failed", rung.reason
    assert "perfect predictions score" in rung.reason
    assert [finding.code for finding in rung.findings] == ["TDR412"]


def test_a_script_that_shows_no_figure_is_skipped(climb: Climb) -> None:
    assert climb(TRAINING, RUNG, verdicts=True, codes=("TDR412",)).status == "skipped"
    assert climb(TRAINING, RUNG).status == "skipped"
