from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import Loaded, Saved, Versions
from torch_doctor_rules.checkpoint.load_refuses_objects import LoadRefusesObjects

if TYPE_CHECKING:
    from .conftest import Script

READ = "torch.load(path)"
OBJECTS = (("optimizer", "the optimizer object"),)


def write_and_read(script: Script, *, objects: tuple[tuple[str, str], ...] = OBJECTS, **fields: Any) -> None:
    """A checkpoint is written to a file, and read from one."""
    script.add(Saved, "torch.save(state, path)", what="state", file="last.pt", objects=objects)
    script.add(Loaded, READ, module=0, name="path", **{"file": "last.pt", "by_default": True, **fields})


@pytest.mark.parametrize("limit", [{}, {"by_default": False, "weights_only": True}])
def test_objects_are_refused_with_the_limits_on(script: Script, limit: dict[str, Any]) -> None:
    write_and_read(script, **limit)
    assert script.found(LoadRefusesObjects) == [READ]


@pytest.mark.parametrize(
    "other",
    [
        {"objects": ()},
        {"file": "other.pt"},
        {"file": ""},
        {"by_default": False, "weights_only": False},
        {"by_default": False, "weights_only": None},
        {"allowed": True},
    ],
)
def test_states_other_files_and_lifted_limits_are_fine(script: Script, other: dict[str, Any]) -> None:
    write_and_read(script, **other)
    assert script.found(LoadRefusesObjects) == []


def test_torch_below_2_6_reads_them(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    write_and_read(script)
    monkeypatch.setattr(script.trace, "torch", lambda: Versions((1, 8), (2, 5)))
    assert script.found(LoadRefusesObjects) == []


def test_a_file_that_is_written_in_two_ways_is_left_alone(script: Script) -> None:
    script.add(Saved, "torch.save(state, path)", what="state", file="last.pt")
    write_and_read(script)
    assert script.found(LoadRefusesObjects) == []
