from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor_rules.module.modules_in_plain_container import ModulesInPlainContainer
from torch_doctor_rules.module.parameters_in_plain_container import ParametersInPlainContainer

if TYPE_CHECKING:
    from torch_doctor.rule import Rule

    from .conftest import Script

BOTH = pytest.mark.parametrize(
    ("rule", "parameters"), [(ModulesInPlainContainer, False), (ParametersInPlainContainer, True)]
)


@BOTH
def test_members_that_no_module_knows_of(script: Script, rule: type[Rule], *, parameters: bool) -> None:
    script.unregistered(parameters=parameters)
    script.unregistered(parameters=parameters)
    assert script.found(rule) == ["self.layers = []"]


@BOTH
def test_members_of_which_little_is_known(script: Script, rule: type[Rule], *, parameters: bool) -> None:
    script.unregistered(parameters=parameters, trainable=None)
    assert script.found(rule) == ["self.layers = []"]


@BOTH
@pytest.mark.parametrize("fact", [{"registered": True}, {"passed_in": True}, {"trainable": False}, {"members": ()}])
def test_right_containers_are_silent(
    script: Script,
    rule: type[Rule],
    *,
    parameters: bool,
    fact: dict[str, Any],
) -> None:
    script.unregistered(parameters=parameters, **fact)
    assert script.found(rule) == []


@BOTH
def test_each_rule_speaks_of_its_own_members(script: Script, rule: type[Rule], *, parameters: bool) -> None:
    script.unregistered(parameters=not parameters)
    assert script.found(rule) == []


@pytest.mark.parametrize(
    ("rule", "parameters", "container", "remedy"),
    [
        (ModulesInPlainContainer, False, "list", "nn.ModuleList"),
        (ModulesInPlainContainer, False, "tuple", "nn.ModuleList"),
        (ModulesInPlainContainer, False, "dict", "nn.ModuleDict"),
        (ParametersInPlainContainer, True, "list", "nn.ParameterList"),
        (ParametersInPlainContainer, True, "dict", "nn.ParameterDict"),
    ],
)
def test_the_remedy_fits_the_container(
    script: Script,
    rule: type[Rule],
    *,
    parameters: bool,
    container: str,
    remedy: str,
) -> None:
    script.unregistered(parameters=parameters, container=container)
    [finding] = script.findings(rule)
    assert finding.help == f"make it an `{remedy}`"
    assert f"Python {container} `self.layers`" in finding.message


def test_where_the_layers_go_in_is_told(script: Script) -> None:
    script.unregistered(filled_at=(script.at("self.layers.append(layer)"),))
    [finding] = script.findings(ModulesInPlainContainer)
    assert [step.note for step in finding.trail] == [
        "`self.layers` of `Net` is a plain list",
        "layers are added to it here",
    ]
