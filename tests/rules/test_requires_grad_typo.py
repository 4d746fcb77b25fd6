from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import GradFlagSet
from torch_doctor_rules.update.requires_grad_typo import RequiresGradTypo

if TYPE_CHECKING:
    from torch_doctor.trace import Tri

    from .conftest import Script


def set_flag(script: Script, name: str, of: str = "tensor", *, value: Tri = False) -> None:
    script.add(GradFlagSet, f"{name} = {value}", name=name, attribute=name.rpartition(".")[2], of=of, value=value)


@pytest.mark.parametrize(
    "attribute",
    ["require_grad", "requires_grads", "required_grad", "requires_gradient", "require_gradient", "requires_grad_"],
)
def test_what_looks_like_requires_grad_is_reported(script: Script, attribute: str) -> None:
    set_flag(script, f"param.{attribute}")
    [finding] = script.findings(RequiresGradTypo)
    assert finding.message == f"`param.{attribute}` sets an attribute that torch does not read: it freezes nothing"
    assert finding.help == "set `requires_grad` instead"


@pytest.mark.parametrize("attribute", ["grad_scale", "has_grad", "keeps_grad", "needs_grad", "requires_norm"])
def test_other_attributes_are_silent(script: Script, attribute: str) -> None:
    set_flag(script, f"param.{attribute}")
    assert script.found(RequiresGradTypo) == []


def test_a_whole_module_has_no_such_attribute(script: Script) -> None:
    set_flag(script, "model.encoder.requires_grad", "module", value=True)
    [finding] = script.findings(RequiresGradTypo)
    assert finding.message.endswith("it enables no gradients")
    assert finding.help == "call `model.encoder.requires_grad_(True)`, which sets it on every parameter"


def test_a_value_that_is_not_known_is_left_open(script: Script) -> None:
    set_flag(script, "model.requires_grad", "module", value=None)
    [finding] = script.findings(RequiresGradTypo)
    assert finding.message.endswith("it has no effect")
    assert "requires_grad_()`" in finding.help
