from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import ModuleBuilt
from torch_doctor_rules.module.missing_super_init import MissingSuperInit

if TYPE_CHECKING:
    from .conftest import Script

INIT = "def __init__(self):"


def build(script: Script, **facts: object) -> None:
    for name in ("first = Net()", "second = Net()"):
        script.add(ModuleBuilt, name, **{"module": 1, "class_name": "Net", "init_site": script.at(INIT), **facts})


def test_a_base_that_is_never_initialised(script: Script) -> None:
    build(script, base_initialised=False)
    assert script.found(MissingSuperInit) == [INIT]
    assert script.findings(MissingSuperInit)[0].message.startswith("`Net` is created without `super().__init__()`")


def test_a_layer_before_the_base_is_initialised(script: Script) -> None:
    build(script, early_member=script.at("self.conv = nn.Conv2d(1, 8, 3)"))
    assert script.found(MissingSuperInit) == [INIT]
    assert [step.note for step in script.findings(MissingSuperInit)[0].trail][-1].startswith("the first layer")


def test_an_initialised_base_is_right(script: Script) -> None:
    build(script)
    assert script.found(MissingSuperInit) == []


def test_an_unknown_base_is_silent(script: Script) -> None:
    build(script, base_initialised=None)
    assert script.found(MissingSuperInit) == []


def test_a_class_without_an_init_of_its_own_is_silent(script: Script) -> None:
    build(script, base_initialised=False, init_site=None)
    assert script.found(MissingSuperInit) == []


def test_a_forward_that_is_misspelt(script: Script) -> None:
    build(script, misspelt="foward", meant="forward")
    (finding,) = script.findings(MissingSuperInit)
    assert finding.message == "`Net` defines `foward`, but no `forward`: calling it raises NotImplementedError"
    assert finding.help == "rename it to `forward`"
