from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Loaded
from torch_doctor_rules.checkpoint.unsafe_load import UnsafeLoad

if TYPE_CHECKING:
    from .conftest import Script


def test_what_is_read_is_to_be_read_with_limits(script: Script) -> None:
    script.add(Loaded, "torch.load(path)", module=0, name="path", weights_only=False)
    [finding] = script.findings(UnsafeLoad)
    assert finding.help == "set `weights_only=True`"


def test_a_whole_object_has_to_be_saved_in_another_way_first(script: Script) -> None:
    script.add(Loaded, "torch.load(path)", module=0, name="path", weights_only=False, whole=True)
    [finding] = script.findings(UnsafeLoad)
    assert "state_dict" in finding.help


def test_files_that_the_project_saves_are_its_own(script: Script) -> None:
    script.trace.saved = lambda: frozenset({"best-*.pt"})
    for file in ("runs/best-3.pt", "runs/first.pt"):
        script.add(Loaded, f"torch.load({file})", module=0, name=file, weights_only=False, file=file)
    assert [finding.cause for finding in script.findings(UnsafeLoad)] == ["runs/first.pt of train.py:1:1"]
