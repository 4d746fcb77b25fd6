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
    assert values(rung, "graphs of earlier steps still alive")[0] in {0, 1, 2}


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


HUGE = [
    *("x[:192], y[:192])", "50 * x[:192], y[:192].sort().values)", "shuffle=True", "shuffle=False"),
    *("lr=0.01", "lr=0.5"),
]
SHUFFLED = ["x[192:], y[192:])", "x[192:], (y[192:] + 1) % 3)", "lr=0.01", "lr=0.03"]


def test_training_that_diverges_fails_though_the_second_pass_is_lower(climb: Climb) -> None:
    rung = climb(broken(*HUGE), RUNG)
    first, second = values(rung, "training loss")
    assert float(str(first)) > float(str(second))
    assert rung.status == "failed", rung.reason
    assert "the steps are too large" in rung.reason
    assert "learning rate" in rung.next


def test_a_validation_loss_that_rises_does_not_pass(climb: Climb) -> None:
    rung = climb(broken(*SHUFFLED), RUNG)
    first, second = values(rung, "validation loss")
    assert float(str(second)) > float(str(first))
    assert rung.status == "shown", rung.reason
    assert rung.reason.endswith("which rises")


def test_steps_that_wait_for_others_are_not_slower(climb: Climb) -> None:
    waits = "        optimizer.step()\n        kept.append(1)\n        threading.Event().wait(len(kept) * 0.004)"
    script = broken(
        "        optimizer.step()",
        waits,
        "for epoch",
        "kept = []\nfor epoch",
        "import torch\n",
        "import threading\nimport torch\n",
    )
    rung = climb(script, RUNG)
    early, late = (values(rung, f"time of the {which} steps")[0] for which in ("first", "last"))
    assert float(str(late)) > 2 * float(str(early))
    assert rung.status == "passed", rung.reason
