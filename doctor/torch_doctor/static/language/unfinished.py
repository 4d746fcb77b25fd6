"""Ends a call that takes too much of a run's steps, or that calls itself, as one that cannot be followed: the run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import giving_up
from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.options import Options
from torch_doctor.static.reaching import Reached
from torch_doctor.static.state import per_run
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.values import (
    Fact,
    FunctionValue,
    Instance,
    Loader,
    Module,
    Object,
    Optimizer,
    Unknown,
    Value,
    held,
    latest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from torch_doctor.static import program as p
    from torch_doctor.static.position import Position
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, ClassValue

FEW = 100
"""Steps that are kept, at most, for what comes after a call that leads to training."""
TOO_LONG = "exceeds its share of the step limit"
"""Why a call is ended."""


class Unfinished(Knowledge):
    """The functions and classes of which a call was ended: the next one would take as many steps."""

    nodes: set[p.Node] = per_run(set)


def within_share(run: Run, what: FunctionValue | ClassValue, call: Call, work: Callable[[], Value]) -> Value:
    """Return what a call of a project's function or class returns, or an unknown value where it uses up its share of the steps.

    What it has changed by then may have happened or not, and all that it can reach may be otherwise.
    """
    outer = run.position
    leads = _leads(what)
    if outer.importing or not (leads or outer.share):
        return work()
    if what.node in run.of(Unfinished).nodes:
        _run_alone_too(run)
        giving_up.at(run.trace, run.site(call.node), outer.scope, outer.guards, f"`{what.node.name}` {TOO_LONG}")
        return ended(run, what, call)
    before, mark, newest = vars(outer).copy(), run.heap.mark(), latest()
    kept = min(run.steps_left / 8, FEW) if leads else run.steps_left * outer.share
    outer.share = run.share if leads else 0.0
    run.steps_left -= kept
    try:
        return work()
    except OutOfBudget:
        if run.of(Options).setting is not None:
            raise  # what a setting leads to counts only where all of it was followed
        run.steps_left, inside = 0, run.scope
        _take_back(run, outer, before, mark)
        giving_up.at(run.trace, run.site(call.node), inside, outer.guards, f"`{what.node.name}` {TOO_LONG}")
        run.of(Unfinished).nodes.add(what.node)
        return ended(run, what, call, [thing for thing in run.objects.of(Object) if thing.id > newest])
    finally:
        outer.share = before["share"]
        run.steps_left += kept


def _take_back(run: Run, outer: Position, before: dict[str, Any], mark: int) -> None:
    """Return to the state before a call, joined with the one in which it was ended."""
    _run_alone_too(run)
    changes = run.heap.changes(mark)
    run.heap.undo(mark)
    run.position = outer
    vars(outer).update(before)
    run.heap.merge(changes, mark)
    run.dead_end = False


def _run_alone_too(run: Run) -> None:
    """Let the functions around a call that is ended be run alone, too, where they train: here it may hide what they do."""
    run.entered -= {each.node for each in run.stack if each.node.parameters and _leads(each)}


def ended(run: Run, what: FunctionValue | ClassValue, call: Call, made: Iterable[Object] = ()) -> Value:
    """Return what is known of a call that is not followed: all that it can reach, or has `made`, may be otherwise behind it."""
    reached = Reached(what, *call.values)
    _assigned(run, reached)
    things = (*reached.things, *made)
    escaping.hand_over(run, what.node.name, (*call.values, *things), call.values, call.node)
    may_initialise(run)
    modes.met_whole(run, run.modules_called[-1:])
    flow = blend(value.flow for value in call.values)
    return Unknown(replace(flow, graph=None), held((*call.values, *things)))  # it may have detached what it was given


def broken_off(run: Run) -> bool:
    """Whether the call just made raises on all paths: where options are what the user chose, nothing comes after it."""
    if not run.dead_end or run.of(Options).setting is None:
        return False
    run.dead_end = False
    return True


def may_initialise(run: Run) -> None:
    """Note that what is not followed may have initialised the modules under construction."""
    for module in run.building:
        run.heap.set(module.facts, Fact.INITIALISED, value=True)


def _assigned(run: Run, reached: Reached) -> None:
    """Let what the code may assign be unknown, but for parts of models and what trains them."""
    names = reached.attributes
    for thing in reached.things:
        if isinstance(thing, (Instance, Module)):
            for name in names.intersection(thing.fields):
                _lose(run, thing, name)
    for holder, name in reached.variables():
        if name in holder.fields:
            _lose(run, holder, name)


def _lose(run: Run, holder: Object, name: str) -> None:
    value = holder.fields[name]
    if isinstance(value, Value) and not isinstance(value, (Module, Optimizer, Loader)):
        run.heap.set(holder.fields, name, Unknown(Flow(graph=None), held((value,))))


def _leads(what: FunctionValue | ClassValue) -> bool:
    """Whether a function, or a method of a class, trains or comes to what does."""
    if isinstance(what, FunctionValue):
        return what.node in what.unit.leading
    return any(isinstance(each, FunctionValue) and _leads(each) for each in what.fields.values())
