"""Calls and objects whose arguments are out of sight: only the role of each is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training.unresolved import arguments
from torch_doctor.static.values import Call, ClassValue, FunctionValue, Value

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def construct(run: Run, cls: ClassValue) -> Value:
    """Construct an object with arguments of which only the role is known."""
    found = cls.find("__init__")
    call = Call((), {}, cls.node)
    if found is not None and isinstance(found[0], FunctionValue):
        call = call_of(run, found[0], cls.node, skip=1)
    return run.call(cls, call)


def call_of(run: Run, function: FunctionValue, node: p.Node, *, skip: int) -> Call:
    """A call of a function with all that it takes by name."""
    kinds: dict[str, list[tuple[str, Value]]] = {"plain": [], "keyword": []}
    for parameter in function.node.parameters[skip:]:
        if parameter.kind in kinds:
            kinds[parameter.kind].append((parameter.name, arguments.argument_for(run, parameter, function)))
    return Call(tuple(value for _, value in kinds["plain"]), dict(kinds["keyword"]), node)
