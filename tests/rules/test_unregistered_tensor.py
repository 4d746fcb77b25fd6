from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import PlainTensorUsed
from torch_doctor_rules.module.unregistered_tensor import UnregisteredTensor

if TYPE_CHECKING:
    from .conftest import Script


def used(script: Script, name: str, *, trained: bool = False) -> None:
    """`self.name` of a Net is used in its forward."""
    script.add(
        PlainTensorUsed,
        f"self.{name} = torch.zeros(4)",
        owner=7,
        owner_class="Net",
        name=name,
        used_at=script.at(f"x + self.{name}"),
        trained=trained,
    )


def test_two_objects_of_one_class_are_one_finding(script: Script) -> None:
    used(script, "mean")
    used(script, "mean")
    [finding] = script.findings(UnregisteredTensor)
    assert finding.message == "`self.mean` is used in `forward`, but is not a buffer: it is not moved or saved"
    assert finding.help == 'register it as a buffer: `self.register_buffer("mean", ...)`'
    assert [step.note for step in finding.trail] == ["`Net` uses it here"]


def test_a_leaf_that_gathers_gradients_is_to_be_a_parameter(script: Script) -> None:
    used(script, "weight", trained=True)
    [finding] = script.findings(UnregisteredTensor)
    assert (
        finding.message == "`self.weight` requires gradients, but is not a parameter: it is not trained, moved or saved"
    )
    assert finding.help == "make it a parameter: `self.weight = nn.Parameter(...)`"
