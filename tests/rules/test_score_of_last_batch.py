from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import BatchTaken, LoaderBuilt, ScoreUsed
from torch_doctor_rules.evaluation.score_of_last_batch import ScoreOfLastBatch

if TYPE_CHECKING:
    from .conftest import Script

ASSIGNED = "loss = criterion(model(x), y)"


def evaluation(script: Script, *, batches: int | None = None, full: bool = False, grad: bool = False) -> None:
    """The loss of a batch is assigned in a pass over a loader, and printed behind it."""
    model = script.model()
    script.add(LoaderBuilt, "DataLoader(dataset)", loader=1, dataset=7, batch=16, batches=batches, full=full)
    for _ in script.loop():
        taken = script.add(BatchTaken, "for x, y in loader", loader=1, name="loader")
        forward = script.forward(model, grad=grad, training=grad)
        if grad:
            script.loss(forward)
            script.backward(model, of=[forward])
    script.add(
        ScoreUsed,
        "print(loss)",
        holder="loss",
        assigned=script.at(ASSIGNED),
        how="shown",
        forwards=frozenset((forward.index,)),
        loop=taken.scope.loop,
    )


def test_a_loss_that_each_batch_overwrites_is_that_of_the_last_one(script: Script) -> None:
    evaluation(script)
    assert script.found(ScoreOfLastBatch) == [ASSIGNED]


@pytest.mark.parametrize(("batches", "full"), [(1, False), (None, True)])
def test_a_loader_of_one_batch_has_no_other(script: Script, *, batches: int | None, full: bool) -> None:
    evaluation(script, batches=batches, full=full)
    assert script.found(ScoreOfLastBatch) == []


def test_the_last_loss_of_training_is_a_sign_of_life(script: Script) -> None:
    evaluation(script, grad=True)
    assert script.found(ScoreOfLastBatch) == []
