from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import Averaged, BatchTaken, Escaped, LoaderBuilt, Summed
from torch_doctor_rules.evaluation.mean_of_batch_means import MeanOfBatchMeans

if TYPE_CHECKING:
    from .conftest import Script


@pytest.mark.parametrize(("builds", "found"), [(False, []), (True, ["total / len(loader)"])])
def test_an_average_for_display_is_fine_where_code_out_of_sight_may_train(
    script: Script, *, builds: bool, found: list[str]
) -> None:
    text = "engine.train(trainer)"
    model = script.model()
    optimizer = script.optimizer(model)
    script.add(LoaderBuilt, "DataLoader(dataset)", loader=1, batch=16, drop_last=False)
    for _ in script.loop("for epoch in range(2)"):
        script.add(Escaped, text, to="engine.train", optimizers=frozenset((optimizer,)), builds=builds)
        sums = []
        for _ in script.loop():
            script.add(BatchTaken, "for x, y in loader", loader=1, name="loader")
            mean = script.loss(script.forward(model, grad=False, training=False))
            means = frozenset((mean.index,))
            sums.append(script.add(Summed, "total += loss.item()", holder="total", means=means).index)
        script.add(Averaged, "total / len(loader)", name="average", sums=frozenset(sums), length=1)
    assert script.found(MeanOfBatchMeans) == found
