"""Programs and traces can be stored, and are the same when they come back."""

from __future__ import annotations

import ast
import pickle
import shutil
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tests.marks import fixtures, name_of
from torch_doctor.report.trace_text import render_json
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, traces
from torch_doctor.static.lowering import lower
from torch_doctor.static.program import Node
from torch_doctor.trace import Trace, Versions

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
SOME = fixtures()[::30]
some_fixtures = pytest.mark.parametrize("fixture", SOME, ids=name_of)
some_files = pytest.mark.parametrize("fixture", [path for path in SOME if path.suffix == ".py"], ids=name_of)


def again(thing: T) -> T:
    """The thing, stored and read."""
    back: T = pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own
    return back


@some_fixtures
def test_a_trace_comes_back_with_all_events_and_is_judged_the_same(fixture: Path, folder: Path) -> None:
    alone = folder / fixture.name  # among all others, it would be looked for in each of them who calls it
    (shutil.copytree if fixture.is_dir() else shutil.copy)(fixture, alone)
    found, _ = traces(Options(paths=(alone,), rules=()))
    assert found
    for trace in found:
        back = again(trace)
        assert render_json([back]) == render_json([trace])
        for rule in all_rules():
            assert list(rule.check(back)) == list(rule.check(trace))


def test_a_trace_comes_back_with_the_versions_of_its_project() -> None:
    trace = Trace("train.py", torch=lambda: Versions((2, 0), (2, 4)))
    back = again(trace)
    assert back.torch() == Versions((2, 0), (2, 4))


def test_a_trace_comes_back_with_the_files_that_its_project_saves() -> None:
    back = again(Trace("predict.py", saved=lambda: frozenset({"best-*.pt"})))
    assert back.saved() == {"best-*.pt"}


@some_files
def test_a_program_comes_back_node_by_node(fixture: Path) -> None:
    text = fixture.read_text(encoding="utf-8")
    program = lower(ast.parse(text), text)
    back = again(program)
    assert described(back) == described(program)


def described(value: Any, seen: dict[int, int] | None = None) -> Any:
    """All that is in a part of a program, in order; what was there before is the number that it got then."""
    seen = {} if seen is None else seen
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [described(each, seen) for each in value]
    if isinstance(value, dict):
        return [(described(key, seen), described(each, seen)) for key, each in value.items()]
    if not isinstance(value, Node) and type(value).__module__.partition(".")[0] != "torch_doctor":
        return value
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return type(value).__name__, [
        (name, described(getattr(value, name), seen)) for name in names if hasattr(value, name)
    ]
