"""Operations on tensors of which one would be on the GPU, and one on the CPU."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from torch_doctor.probe.agent.instruments.device.meeting import Meeting
from torch_doctor.probe.agent.stand_ins.cuda.places import DISPATCHED, GPU, Place, places


@pytest.mark.parametrize(("place", "fails"), [(GPU, True), (DISPATCHED, False)])
def test_what_a_library_dispatches_may_be_called_with_tensors_from_anywhere(
    monkeypatch: pytest.MonkeyPatch, place: Place, *, fails: bool
) -> None:
    weight, batch = torch.randn(4, 4), torch.randn(2, 4)
    places.set(weight, place)
    places.set(batch, Place(gpu=False, how="batch"))
    watch: Any = SimpleNamespace(torch=torch, recorder=None, unwatched=nullcontext)
    where: Any = SimpleNamespace(of=places.of)
    told: list[str] = []
    monkeypatch.setattr(Meeting, "told", lambda _, __, name, *___: told.append(name))
    Meeting(watch, where).look(torch.matmul, "matmul", (batch, weight), {}, [batch, weight])
    assert bool(told) == fails
