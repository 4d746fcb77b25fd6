"""A new event costs its class: who else names events, and whether the agent writes them as they are declared."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from torch_doctor import trace as t

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
MACHINE, RULES = ROOT / "doctor/torch_doctor", ROOT / "rules/torch_doctor_rules"
TRACE, AGENT = MACHINE / "trace", MACHINE / "probe/agent"
READERS = (RULES, MACHINE / "report", MACHINE / "checkup", MACHINE / "probe" / "torch_errors.py")
"""Rules judge events, `trace` and `checkup` show them, and errors of torch are explained by them."""
MOST_BESIDES = 2
PLACED = {"site"}  # what the recorder takes besides the fields


class Written(NamedTuple):
    """A call of the agent that writes an event."""

    path: Path
    row: int
    kind: str
    fields: frozenset[str]

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.row}"


def parsed(*folders: Path, having: str = "") -> Iterator[tuple[Path, ast.Module]]:
    """The modules in some folders that have a certain text."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if having in (text := path.read_text(encoding="utf-8")):
                yield path, ast.parse(text)


def named(tree: ast.AST) -> set[str]:
    """The classes of events that some code names; an import alone does not."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return names & t.EVENTS.keys()


def made(tree: ast.AST) -> set[str]:
    """The classes of events that some code writes: by constructing one, or by handing the class to `emit`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    written = {name for call in calls for name in named(call.func)}
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "emit" and call.args:
            written |= named(call.args[0])
    return written


def test_who_neither_writes_an_event_nor_reads_it_hardly_names_it() -> None:
    others = defaultdict(list)
    for path, tree in parsed(MACHINE, RULES):
        if TRACE not in path.parents and not any(reader in (path, *path.parents) for reader in READERS):
            for name in named(tree) - made(tree):
                others[name].append(path.relative_to(ROOT).as_posix())
    assert others, "nothing was read"
    assert {name: paths for name, paths in others.items() if len(paths) > MOST_BESIDES} == {}


def test_the_vocabulary_names_each_event_once() -> None:
    homes: dict[str, list[Path]] = defaultdict(list)
    for path, tree in parsed(TRACE):
        classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}
        strings = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for name in (named(tree) | classes | imported | strings) & t.EVENTS.keys():
            homes[name].append(path)
    assert {name: len(paths) for name, paths in homes.items()} == dict.fromkeys(t.EVENTS, 1)


def written_by_the_agent() -> Iterator[Written]:
    """The agent's calls of `event("Backward", ...)`; where the fields are handed on as a dictionary, those that are named."""
    for path, tree in parsed(AGENT, having="event"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name.strip("_") == "event" and isinstance(kind := node.args[0], ast.Constant):
                fields = frozenset(keyword.arg for keyword in node.keywords if keyword.arg)
                yield Written(path, node.lineno, str(kind.value), fields)


@pytest.mark.parametrize("written", list(written_by_the_agent()), ids=str)
def test_the_agent_writes_events_and_fields_that_there_are(written: Written) -> None:
    assert written.fields - PLACED <= set(t.EVENTS[written.kind].__struct_fields__)


def test_the_agent_writes_many_events() -> None:
    assert len({written.kind for written in written_by_the_agent()}) > len(t.EVENTS) // 2
