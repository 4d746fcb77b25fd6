from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Saved
from torch_doctor_rules.checkpoint.whole_model_saved import WholeModelSaved

if TYPE_CHECKING:
    from .conftest import Script


def test_a_model_object_is_reported_once(script: Script) -> None:
    model = script.model()
    for _ in script.loop():
        script.saved("model", model)
    assert script.found(WholeModelSaved) == ["torch.save(model)"]


def test_a_model_inside_a_checkpoint(script: Script) -> None:
    model = script.model()
    script.add(Saved, "torch.save(checkpoint)", what="checkpoint", modules=(model,), names=("net",))
    [finding] = script.findings(WholeModelSaved)
    assert "under `net`" in finding.message


def test_state_dicts_and_unknown_things_are_right(script: Script) -> None:
    for what in ("model.state_dict()", "checkpoint", "tensor"):
        script.saved(what)
    assert script.found(WholeModelSaved) == []
