"""What the agent writes is what traces are made of: its events and claims are words, which nothing else would check."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import torch_doctor
import torch_doctor_rules
from tests.trace.events import required
from torch_doctor.probe.agent import claims
from torch_doctor.trace import EVENTS, TensorFact
from torch_doctor.trace import claims as known_to_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from msgspec import Struct

AGENT = Path(torch_doctor.__file__).parent / "probe/agent"
RULES = Path(torch_doctor_rules.__file__).parent
PLUMBING = {"recorder.py", "scopes.py"}  # they pass on what they are given, or write the scopes' own
OF_THE_PROTOCOL = {"site", "scope", "guards", "index"}  # which it has other words for


class Written(NamedTuple):
    """One call that writes an event: its class, the fields that it names, and whether it may name more."""

    kind: str
    fields: frozenset[str]
    more: bool
    place: str


def functions(path: Path) -> Iterator[ast.AST]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == name and each.args:
            yield each


def words(node: ast.AST | None) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def spread(function: ast.AST, name: str) -> frozenset[str]:
    """The keys that a function puts in the dictionary of this name."""
    found: list[str] = []
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name and isinstance(value, ast.Dict):
                found += [word for key in value.keys for word in words(key)]
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
                found += words(target.slice)
    return frozenset(found)


def written() -> Iterator[Written]:
    paths = sorted(path for path in AGENT.rglob("*.py") if ".event(" in path.read_text(encoding="utf-8"))
    for path in paths:
        for function in functions(path):
            for call in calls(function, "event"):
                fields: set[str] = set()
                more = False
                for keyword in call.keywords:
                    if keyword.arg is not None:
                        fields.add(keyword.arg)
                    elif isinstance(keyword.value, ast.Name):
                        fields |= spread(function, keyword.value.id)
                        more = True
                    else:
                        more = True
                for kind in words(call.args[0]):
                    yield Written(kind, frozenset(fields), more, f"{path.relative_to(AGENT)}:{call.lineno}")


WRITTEN = list(dict.fromkeys(written()))  # a function in another is found twice


def fields_of(kind: type[Struct]) -> dict[str, bool]:
    """The fields of a class, each with whether it has to be given."""
    needed = required(kind)
    return {name: name in needed for name in kind.__struct_fields__ if name not in OF_THE_PROTOCOL}


def test_the_calls_are_found() -> None:
    assert len({each.kind for each in WRITTEN}) > 50


@pytest.mark.parametrize("call", WRITTEN, ids=lambda call: f"{call.kind} {call.place}")
def test_an_event_has_the_fields_of_its_class(call: Written) -> None:
    assert call.kind in EVENTS
    fields = fields_of(EVENTS[call.kind])
    assert call.fields - {"site"} <= set(fields)
    if not call.more:
        assert {name for name, needed in fields.items() if needed} <= call.fields


def test_only_the_plumbing_writes_events_whose_class_is_computed() -> None:
    computed = {
        path.name
        for path in AGENT.rglob("*.py")
        for call in calls(ast.parse(path.read_text(encoding="utf-8")), "event")
        if not words(call.args[0])
    }
    assert computed <= PLUMBING


def test_what_describes_a_tensor_has_the_fields_of_a_tensor_fact() -> None:
    path = AGENT / "watching/facts.py"
    described = frozenset[str]().union(*(spread(function, "fact") for function in functions(path)))
    assert described
    assert described <= set(fields_of(TensorFact))


def constants(module: ModuleType) -> dict[str, str]:
    return {name: value for name, value in vars(module).items() if isinstance(value, str) and name.isupper()}


def claims_used_in(folder: Path) -> set[str]:
    return {
        node.attr
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "claims"
    }


def test_no_measurement_makes_a_claim_without_a_name() -> None:
    for path in AGENT.rglob("*.py"):
        for call in calls(ast.parse(path.read_text(encoding="utf-8")), "measured"):
            assert not words(call.args[0]), f"{path}:{call.lineno}"


def test_the_agent_and_the_rules_mean_the_same_by_a_claim() -> None:
    assert constants(claims) == constants(known_to_rules)


@pytest.mark.parametrize("folder", [AGENT, RULES], ids=["agent", "rules"])
def test_every_claim_is_made_and_read(folder: Path) -> None:
    assert claims_used_in(folder) == set(constants(claims))
