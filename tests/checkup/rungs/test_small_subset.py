"""Whether two passes over a few batches show what grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

RUNG = "small-subset"
KEPT = "        optimizer.step()\n        kept.append(loss)"
SUMMED = "        optimizer.step()\n        total = total + loss"
SLOWER = "        optimizer.step()\n        kept.append(1)\n        sum(range(len(kept) * 150_000))"


def test_a_good_script_learns_and_nothing_grows(climb: Climb) -> None:
    rung = climb(TRAINING, RUNG)
    assert rung.status == "passed", rung.reason
    training, again = values(rung, "training loss")
    assert isinstance(training, float)
    assert isinstance(again, float)
    assert again < training
    assert len(values(rung, "validation loss")) == 2
    assert values(rung, "graphs of earlier steps that are still alive")[0] in {0, 1, 2}


@pytest.mark.parametrize("kept", [KEPT, SUMMED], ids=["list", "sum"])
def test_graphs_that_are_kept_fail(climb: Climb, kept: str) -> None:
    rung = climb(broken("        optimizer.step()", kept, "for epoch", "kept, total = [], 0\nfor epoch"), RUNG)
    assert rung.status == "failed", rung.reason
    assert "are still alive" in rung.reason


@pytest.mark.parametrize("good", ["kept.append(loss.item())", "kept.append(loss.detach())"])
def test_numbers_may_be_kept(climb: Climb, good: str) -> None:
    script = broken(
        "        optimizer.step()", KEPT.replace("kept.append(loss)", good), "for epoch", "kept = []\nfor epoch"
    )
    assert climb(script, RUNG).status == "passed"


def test_steps_that_take_longer_and_longer_fail(climb: Climb) -> None:
    rung = climb(broken("        optimizer.step()", SLOWER, "for epoch", "kept = []\nfor epoch"), RUNG)
    assert rung.status == "failed", rung.reason
    assert "at the end" in rung.reason


def test_without_a_loader_there_is_no_subset(climb: Climb) -> None:
    script = broken("for images, labels in train_loader:", "for images, labels in [(x, y)] * 5:")
    assert climb(script, RUNG).status == "skipped"


def test_graphs_of_a_window_may_be_kept(climb: Climb) -> None:
    window = KEPT + "\n        if len(kept) >= 5:\n            kept = []"
    script = broken("        optimizer.step()", window, "for epoch", "kept = []\nfor epoch")
    assert climb(script, RUNG).status == "passed"


def test_numbers_of_batches_go_on(climb: Climb) -> None:
    window = KEPT + "\n        if number % 5 == 0:\n            kept.clear()"
    header = ["for images, labels in train_loader:", "for number, (images, labels) in enumerate(train_loader):"]
    script = broken(*header, "        optimizer.step()", window, "for epoch", "kept = []\nfor epoch")
    assert climb(script, RUNG).status == "passed"
