"""Assignments that keep something with the best figure so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.program.expressions import Attribute, Call, Compare, Name
from torch_doctor.static.program.records import ORDER, record
from torch_doctor.static.program.statements import Assign, Break, Raise, Return
from torch_doctor.static.program.using import path_of
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from torch_doctor.static.program.node import Node

_EXTREMES: Final = frozenset(("max", "min"))


def kept_by_records(body: tuple[Node, ...]) -> dict[Node, frozenset[Node]]:
    """Return the assignments that keep something with the best figure so far, each with all nodes of what is done there.

    They are in an arm of a comparison that renews the best figure, after which the loop goes on, or are
    `best = max(best, (figure, something))`.
    """
    found: dict[Node, frozenset[Node]] = {}
    for node in walk(*body):
        if isinstance(node, Compare) and node.op in ORDER:
            known = record(body, node)
            arm: frozenset[Node] = frozenset(walk(*known.arm)) if known is not None and known.renewed else frozenset()
            if not any(isinstance(each, (Break, Return, Raise)) for each in arm):
                found |= {each: arm for each in arm if isinstance(each, Assign)}
        elif isinstance(node, Assign) and isinstance(node.value, Call) and _chooses(node.value):
            given = {path_of(each) for each in node.value.args if isinstance(each, (Name, Attribute))}
            if any(isinstance(each, (Name, Attribute)) and path_of(each) in given for each in node.targets):
                found[node] = frozenset(walk(node))
    return found


def _chooses(call: Call) -> bool:
    return isinstance(call.func, Name) and call.func.id in _EXTREMES
