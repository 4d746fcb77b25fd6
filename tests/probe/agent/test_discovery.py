"""Watchers, stand-ins and libraries are found by walking their packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.probe.agent import discovery, libraries, stand_ins, watching
from torch_doctor.probe.agent.stand_ins import told
from torch_doctor.rule import all_rules

if TYPE_CHECKING:
    from torch_doctor.probe.agent.stand_ins.stand_in import StandIn

FACTS = {value for name, value in vars(told).items() if name.isupper()}


def test_watchers_live_in_the_families_of_the_rules() -> None:
    families = {type(rule).__module__.split(".")[-2] for rule in all_rules()}
    found = [module for module in discovery.modules(watching) if hasattr(module, "Watcher")]
    assert {module.__name__.split(".")[-2] for module in found} == families
    assert len(watching.watchers()) == len(found)  # others know them by the names of their modules alone


def test_a_part_comes_behind_those_that_it_names() -> None:
    parts: dict[str, tuple[str, ...]] = {"first": ("last",), "last": ("between",), "between": ()}
    assert list(discovery.in_order(parts, lambda after: after)) == ["between", "last", "first"]


@pytest.mark.parametrize("parts", [watching.watchers(), stand_ins.stand_ins()], ids=["watchers", "stand-ins"])
def test_what_has_to_be_installed_before_is(parts: dict[str, Any]) -> None:
    names = list(parts)
    for name, part in parts.items():
        for earlier in getattr(part, "installed_after", ()):
            assert names.index(earlier) < names.index(name)


@pytest.mark.parametrize("kind", stand_ins.stand_ins().values())
def test_a_stand_in_says_what_it_replaces_and_what_that_makes_meaningless(kind: type[StandIn]) -> None:
    assert kind.replaces
    assert set(kind.voids) <= FACTS


def test_a_library_is_a_module_of_its_name() -> None:
    modules = {module.__name__.split(".")[-1] for module in discovery.modules(libraries) if hasattr(module, "LIBRARY")}
    assert {library.name for library in libraries.known()} == modules
