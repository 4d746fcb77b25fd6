"""The way from a call in the source to its event is short enough to be read in one go."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from tests.said import said
from torch_doctor.static.run import Run
from torch_doctor.trace import Backward

if TYPE_CHECKING:
    import pytest

MOST = 8


def test_a_backward_call_becomes_its_event_in_a_few_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    emit = Run.emit

    def watched(run: Run, kind: Any, node: Any, **fields: Any) -> Any:
        if kind is Backward:
            names.extend(frame.name for frame in traceback.extract_stack())
        return emit(run, kind, node, **fields)

    monkeypatch.setattr(Run, "emit", watched)
    said("""
        import torch
        from torch import nn

        model = nn.Linear(4, 2)
        loss = model(torch.randn(3, 4)).sum()
        loss.backward()
    """)
    way = names[names.index("block") + 1 :]
    assert way[0] == "_evaluate"
    assert way[-2:] == ["backward", "watched"]
    assert len(way) <= MOST, way
