from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import LoaderBuilt
from torch_doctor.trace import RowsMixed as Mixed
from torch_doctor_rules.module.rows_mixed import RowsMixed
from torch_doctor_rules.module.sequence_axis import SequenceAxis

if TYPE_CHECKING:
    from .conftest import Script

LAYER = "nn.LSTM(4, 8)"


def mixed(
    script: Script, how: str = "layer", *, shuffle: bool | None = True, batch: int = 16, explicit: bool = False
) -> None:
    """A layer, or a view, that gets a batch of a loader."""
    script.add(LoaderBuilt, "DataLoader(dataset)", loader=1, shuffle=shuffle, batch=batch)
    shape = ("batch", 10, 4)
    script.add(Mixed, LAYER, how=how, name="torch.nn.LSTM", loader=1, shape=shape, explicit=explicit)


def test_a_layer_goes_along_rows_that_are_shuffled(script: Script) -> None:
    mixed(script)
    [finding] = script.findings(SequenceAxis)
    assert [getattr(edit, "name", "") for edit in finding.edits] == ["batch_first"]


@pytest.mark.parametrize("shuffle", [False, None])
def test_rows_in_their_order_may_be_steps_of_time_but_no_view_is_right(script: Script, shuffle: bool | None) -> None:
    mixed(script, shuffle=shuffle)
    assert script.found(SequenceAxis) == []
    mixed(script, "view", shuffle=shuffle)
    assert script.found(RowsMixed) == [LAYER]


def test_a_batch_of_one_row_mixes_nothing(script: Script) -> None:
    mixed(script, batch=1)
    assert script.found(SequenceAxis) == []


def test_what_the_script_says_itself_is_not_changed(script: Script) -> None:
    mixed(script, explicit=True)
    [finding] = script.findings(SequenceAxis)
    assert finding.edits == ()
