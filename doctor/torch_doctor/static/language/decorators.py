"""Applies the project's own decorators; one that only registers functions is not executed for hundreds of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.static import file_globals
from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.training.graph import emptying
from torch_doctor.static.values import (
    Bound,
    Call,
    ClassValue,
    Deferred,
    FunctionValue,
    Partial,
    Unknown,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

REGISTERING_STEPS = 1_000
"""Steps that a decorator may take which returns each function as it is: it enters them in a table."""


class Registrars(Knowledge):
    """The decorators that have returned every function as it is."""

    steps: dict[p.Function, float] = per_run(lambda: defaultdict(float))  # that each has taken
    wrappers: set[p.Function] = per_run(set)  # those that returned something else


def apply(run: Run, applied: FunctionValue | Bound, function: Value, node: p.Expr) -> Value:
    """What a decorator of the project, a function or a method, makes of a function or a class.

    A decorator that has taken many steps and returned every function as it is does the same with the next one. What it
    would have entered in its tables is unknown.
    """
    known = run.of(Registrars)
    decorator = applied.function if isinstance(applied, Bound) else applied
    if decorator.node not in known.wrappers and known.steps[decorator.node] > REGISTERING_STEPS:
        _open_tables(run, decorator)
        return function
    before = run.steps_left
    try:
        wrapped = run.call(applied, Call((function,), {}, node))
    finally:
        known.steps[decorator.node] += before - run.steps_left
    if wrapped is not function:
        known.wrappers.add(decorator.node)
    return wrapped if isinstance(wrapped, (FunctionValue, Partial, Bound, ClassValue, Unknown)) else function


def _open_tables(run: Run, decorator: FunctionValue) -> None:
    """The dicts and lists that a decorator names hold what nobody knows, too."""
    for name in {node.id for node in walk(decorator.node) if isinstance(node, p.Name)}:
        holder = decorator.closure.holder(name)
        table = holder.fields.get(name) if holder is not None else None
        if isinstance(table, Deferred):
            table = file_globals.one(run, decorator.closure.globals, name)
        if table is not None:
            emptying.open_table(run, table)
