"""Paths: which of them are the same, in every process of a distributed run or in two calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.program.walking import tells_processes_apart, walk
from torch_doctor.static.values import Const, Lib, Plain

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri

JOINS = frozenset(
    ("os.path.join", "builtins.str", "builtins.int", "pathlib.Path", "os.path.abspath", "os.path.expanduser")
)
"""Functions that make a path of what they are given, and of nothing else."""
_WITHIN = (p.Const, p.Text, p.Operation, p.Attribute, p.Call, p.Name)


def shared(run: Run, node: p.Node, position: int, *names: str) -> Tri:
    """Whether the path that a call is given is the same in every process; None where that is not known."""
    found = _given(node, position, *names)
    if found is None:
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


def spelled(run: Run, node: p.Node, position: int, *names: str) -> str:
    """Text that is equal for two calls whose path is the same; "" where what the path is made of is not known."""
    found = _given(node, position, *names)
    return "" if found is None else _of(run, found)


def _given(node: p.Node, position: int, *names: str) -> p.Expr | None:
    """The path among the arguments of a call."""
    if not isinstance(node, p.Call):
        return None
    given = dict(node.keywords)
    if position < len(node.args):
        found: p.Expr | None = node.args[position]
    else:
        found = next((given[name] for name in names if name in given), None)
    return None if isinstance(found, p.Star) else found


def _of(run: Run, path: p.Expr) -> str:
    """Text for what a path is: its value, or what it is made of."""
    if isinstance(path, (p.Const, p.Name, p.Attribute)):
        value = run.resolve(run.evaluate(path))
        if isinstance(value, Const):
            return repr(value.value)
        if isinstance(value, Plain):
            return str(value.symbol)
        holder = run.frame.holder(path.id) if isinstance(path, p.Name) else None
        is_global = holder is not None and holder.fields is run.frame.globals.fields
        return path.id if is_global and isinstance(path, p.Name) else ""
    if isinstance(path, p.Text):
        made, parts = run.text(path), path.parts
    elif isinstance(path, p.Operation):
        made, parts = path.op, path.operands
    elif isinstance(path, p.Call) and not path.keywords:
        function = run.evaluate(path.func)
        made, parts = function.name if isinstance(function, Lib) and function.name in JOINS else "", path.args
    else:
        return ""
    known = [_of(run, part) for part in parts]
    return f"{made}({', '.join(known)})" if made and all(known) else ""


def _counts(value: object) -> bool:
    """Whether it is what a loop over numbers counts, or a setting."""
    return isinstance(value, Plain) and (value.size is not None or value.symbol[0] in ("counter", "flag", "."))
