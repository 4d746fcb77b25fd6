"""What a schedule that is written as a function counts: what its number of steps is compared with, or divided by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.program.walking import walk
from torch_doctor.static.training.unresolved.arguments import frame_for
from torch_doctor.static.values import FunctionValue, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run

_TURNED = frozenset(("float", "int", "min", "max"))
"""Functions that leave a number of steps what it is."""
_ORDERS = frozenset(("<", "<=", ">", ">=", "=="))


class Measure(NamedTuple):
    """A number that a function measures its steps by, and how the script spells it."""

    value: Value
    spelled: str


def bounds(run: Run, function: Value) -> Iterator[Measure]:
    """The numbers around a function of one argument that it measures this argument by."""
    if not isinstance(function, FunctionValue) or len(function.node.parameters) != 1:
        return
    steps, frame = function.node.parameters[0].name, frame_for(run, function)
    for node in walk(function.node.body):
        measure = _measure(node, steps)
        names = [each.id for each in walk(measure) if isinstance(each, p.Name)] if measure is not None else []
        if measure is None or not names or not all(map(frame.holder, names)):
            continue  # a number of its own, or of what it computes itself
        with run.override(frame=frame):
            yield Measure(run.resolve(run.evaluate(measure)), run.text(measure))


def _measure(node: object, steps: str) -> p.Expr | None:
    """What an expression measures the steps by; None for any other expression."""
    if isinstance(node, p.Operation) and node.op in ("/", "//") and _is_steps(node.operands[0], steps):
        return node.operands[1]
    if isinstance(node, p.Compare) and node.op in _ORDERS:
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if _is_steps(one, steps):
                return other
    return None


def _is_steps(node: p.Expr, steps: str) -> bool:
    """Whether an expression is the number of steps, or what is left of it."""
    if isinstance(node, p.Operation) and node.op in ("+", "-"):
        return _is_steps(node.operands[0], steps)
    if isinstance(node, p.Call) and isinstance(node.func, p.Name) and node.func.id in _TURNED:
        return any(_is_steps(each, steps) for each in node.args)
    return isinstance(node, p.Name) and node.id == steps
