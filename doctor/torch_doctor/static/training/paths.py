"""Paths that are the same in every process of a distributed run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.program.walking import tells_processes_apart, walk
from torch_doctor.static.values import Const, Lib, Plain

if TYPE_CHECKING:
    from torch_doctor.static.executor import Executor
    from torch_doctor.trace import Tri

JOINS = frozenset(
    ("os.path.join", "builtins.str", "builtins.int", "pathlib.Path", "os.path.abspath", "os.path.expanduser")
)
"""Functions that make a path of what they are given, and of nothing else."""
_WITHIN = (p.Const, p.Text, p.Operation, p.Attribute, p.Call, p.Name)


def shared(run: Executor, node: p.Node, position: int, *names: str) -> Tri:
    """Whether the path that a call is given is the same in every process; None where that is not known."""
    if not isinstance(node, p.Call):
        return None
    given = dict(node.keywords)
    found = (
        node.args[position]
        if position < len(node.args)
        else next((given[name] for name in names if name in given), None)
    )
    if found is None or isinstance(found, p.Star):
        return None
    parts = list(walk(found))
    if tells_processes_apart(found) or not all(isinstance(part, _WITHIN) for part in parts):
        return None
    called = [part.func for part in parts if isinstance(part, p.Call)]
    known = (run.evaluate(func) for func in called)
    if not all(isinstance(func, Lib) and func.name in JOINS for func in known):
        return None
    roots = {part.value for part in parts if isinstance(part, p.Attribute)} | set(called)
    named = (run.evaluate(part) for part in parts if isinstance(part, p.Name) and part not in roots)
    return True if all(isinstance(value, (Const, Lib)) or _counts(value) for value in named) else None


def _counts(value: object) -> bool:
    """Whether it is what a loop over numbers counts, or a setting."""
    return isinstance(value, Plain) and (value.size is not None or value.symbol[0] in ("counter", "flag", "."))
