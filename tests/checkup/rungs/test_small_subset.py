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


def test_a_validation_loss_that_rises_is_read_as_overfitting(climb: Climb) -> None:
    rung = climb(broken(*SHUFFLED), RUNG)
    first, second = values(rung, "validation loss")
    assert float(str(second)) > float(str(first))
    assert rung.status == "shown", rung.reason
    assert values(rung, "curves") == ["overfitting"]
    assert "overfitting: the" in rung.reason
    assert rung.next.startswith("where it overfits on all data too, try in this order: train on more data")


NOISE = ["y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "y = torch.randint(0, 3, (256,))"]
LARGE = ["nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3)", "nn.Linear(10, 256), nn.ReLU(), nn.Linear(256, 3)"]
SMALL = ["x[:192], y[:192])", "x[:64], y[:64])"]


def test_what_is_memorized_and_does_not_help_shows_samples_and_what_to_try(climb: Climb) -> None:
    rung = climb(broken(*NOISE, *LARGE, *SMALL), RUNG)
    assert rung.status == "shown", rung.reason
    assert "always answering the most frequent class gets" in rung.reason
    assert "labels and inputs may not belong together" in rung.reason
    (samples,) = [plot for plot in rung.plots if plot.title == "Samples and their labels"]
    assert "label" in samples.texts[0]
    assert "input" in samples.texts[0]
    seen = {fact.label: fact.value for fact in rung.evidence if fact.group == "regularization"}
    assert seen["augmentation"] == "none: samples are the same each time"
    assert seen["weight decay"] == "none"
    assert seen["dropout"] == "none: the training loss of a batch is the same each time"
    assert seen["training samples"] == "64"
    order = str(seen["to try, in this order"])
    assert (
        order.index("augment") < order.index("set weight_decay") < order.index("add dropout") < order.index("smaller")
    )
    losses = next(plot for plot in rung.plots if plot.title.startswith("Loss in evaluation mode"))
    assert [series.label for series in losses.series] == ["train_loader", "val_loader"]
    assert losses.series[0].y[-1] < losses.series[0].y[0]  # type: ignore[operator]


def test_what_a_script_has_against_overfitting_is_named(climb: Climb) -> None:
    noisy = "class Noisy(TensorDataset):\n    def __getitem__(self, i):\n        image, label = super().__getitem__(i)\n        "
    noisy += "return image + torch.randn(10) * 0.01, label\ntrain_loader = DataLoader(Noisy("
    script = broken(
        *(*NOISE, *LARGE, "x[:192], y[:192])", "x[:64], y[:64])", "train_loader = DataLoader(TensorDataset(", noisy),
        *("nn.ReLU()", "nn.ReLU(), nn.Dropout(0.1)", "lr=0.01", "lr=0.01, weight_decay=1e-4"),
    )
    rung = climb(script, RUNG)
    seen = {fact.label: fact.value for fact in rung.evidence if fact.group == "regularization"}
    assert seen["augmentation"] == "samples differ each time they are read"
    assert seen["weight decay"] == "0.0001"
    assert seen["dropout"] == "`2` (0.1)"
    assert "augment the training data" not in str(seen["to try, in this order"])
    assert "increase weight decay; increase dropout" in str(seen["to try, in this order"])


def test_a_model_that_cannot_learn_the_labels_is_read_as_underfitting(climb: Climb) -> None:
    script = broken(*NOISE, "nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3)", "nn.Linear(10, 3)", "lr=0.01", "lr=1e-5")
    rung = climb(script, RUNG)
    assert rung.status == "shown", rung.reason
    assert values(rung, "curves") == ["underfitting"]
    assert "the training loss falls by less than 5%" in rung.reason
    assert "raise the learning rate" in rung.next


def test_steps_that_work_longer_and_retain_nothing_are_not_slower(climb: Climb) -> None:
    """What others do on the machine slows down the work of a step as well."""
    works = "        optimizer.step()\n        kept.append(1)\n        sum(range(len(kept) * 15_000))"
    script = broken("        optimizer.step()", works, "for epoch", "kept = []\nfor epoch")
    rung = climb(script, RUNG)
    early, late = (values(rung, f"time of the {which} steps")[0] for which in ("first", "last"))
    assert float(str(late)) > 2 * float(str(early))
    assert rung.status == "passed", rung.reason


def test_steps_that_work_longer_on_what_earlier_ones_left_are_slower(climb: Climb) -> None:
    works = "        optimizer.step()\n        kept.append(torch.ones(40_000))\n        "
    works += "sum((each.exp().sum() for each in kept * 8), 0)"
    script = broken("        optimizer.step()", works, "for epoch", "kept = []\nfor epoch")
    rung = climb(script, RUNG)
    assert rung.status == "failed", rung.reason
    assert "at the end" in rung.reason
    assert "values retained between steps" in rung.next
