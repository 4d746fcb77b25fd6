"""The arguments that may be on the CPU are arguments of torch's functions, and frameworks ask for a GPU."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn.utils import rnn

from torch_doctor.static.tables import placing

if TYPE_CHECKING:
    from collections.abc import Callable

PYTHON: dict[str, Callable[..., Any]] = {
    "pack_padded_sequence": rnn.pack_padded_sequence,
    "unpad_sequence": rnn.unpad_sequence,
    "ctc_loss": torch.nn.functional.ctc_loss,
    "CTCLoss": torch.nn.CTCLoss.forward,
}


@pytest.mark.parametrize("name", PYTHON)
def test_torch_has_these_arguments_at_these_places(name: str) -> None:
    parameters = [each for each in inspect.signature(PYTHON[name]).parameters if each != "self"]
    assert [parameters[place] for place, _ in placing.ON_THE_CPU[name]] == [
        word for _, word in placing.ON_THE_CPU[name]
    ]


def test_lengths_that_torch_returns_do_not_say_where_the_rest_is() -> None:
    packed = rnn.pack_padded_sequence(torch.zeros(2, 3, device="meta"), torch.tensor([2, 1, 1]))
    assert packed.data.device.type == "meta"
    assert packed.batch_sizes.device.type == "cpu"


def test_nobody_asks_for_a_gpu_by_importing_torch() -> None:
    assert {"cuda", "device", "accelerate", "fastai"} <= set(placing.ASKING)
    assert "torch" not in placing.ASKING
