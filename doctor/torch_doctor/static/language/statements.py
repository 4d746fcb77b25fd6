"""Executes the statements that are no assignment, branch, loop or definition: jumps, deletions, expressions on their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.language import command_lines, conditions, targets, unfinished
from torch_doctor.static.options import Options
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import container_methods, mending, places
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import (
    NOTHING,
    Fact,
    Lib,
    Plain,
    Sequence,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def _annotate(run: Run, node: p.Annotate) -> bool:
    cls = run.frame.owner
    if cls is not None and node.name not in cls.fact(Fact.ANNOTATED):
        run.heap.set(cls.facts, Fact.ANNOTATED, (*cls.fact(Fact.ANNOTATED), node.name))
    return True


def _evaluate(run: Run, node: p.Evaluate) -> bool:
    before = len(run.trace.events)
    value = run.evaluate(node.value)
    if isinstance(node.value, p.Call) and len(run.trace.events) > before:
        written_forwards.dropped(run, before, node.value)
    places.dropped(run, node.value)
    for tell in run.observers.tested if isinstance(node, p.Assert) else ():
        tell(run, value)
    for observe in run.observers.stated if not isinstance(node, p.Assert) else ():
        observe(run, node.value, value)
    mending.called(run, node.value, value)
    if not isinstance(node.value, p.Call):
        return True
    chosen = run.fork_depth or run.of(Options).setting is not None  # an end without any choice is that of the script
    return not (unfinished.broken_off(run) or (chosen and _ends(run, node.value)))


def _assert(run: Run, node: p.Assert) -> bool:
    """Where the options are known, a test that fails ends the path; else everything goes on as it was."""
    if run.of(Options).setting is not None and conditions.decide(run, node.value)[0] is False:
        return False
    return _evaluate(run, node)


def _ends(run: Run, call: p.Call) -> bool:
    """Whether a call ends the script: no more is done on this path."""
    if not isinstance(call.func, (p.Name, p.Attribute)):
        return False
    name = call.func.id if isinstance(call.func, p.Name) else call.func.name
    function = run.evaluate(call.func) if name in _LAST_NAMES else None
    if isinstance(function, Plain):
        return name == "error" and command_lines.is_parser(function)
    return isinstance(function, Lib) and canonical(function.name) in _ENDING


_ENDING = frozenset(("sys.exit", "os._exit", "builtins.exit", "builtins.quit"))
_LAST_NAMES = frozenset(("error", *(name.rpartition(".")[2] for name in _ENDING)))


def _return(run: Run, node: p.Return) -> bool:
    value = NOTHING if node.value is None else run.evaluate(node.value)
    frame = run.frame
    landing = frame.returns
    if landing is not None:
        frame.returned.append((frozenset(run.assumed.items()), value))
        if run.fork_depth == landing.depth and run.loop_depth == landing.loops:
            landing.direct = True
        else:
            run.jump(landing)
    return False


def _raise(run: Run, _: p.Raise) -> bool:
    return False


def _break(run: Run, _: p.Break) -> bool:
    if run.loop is not None:
        run.jump(run.loop)
    return False


def _continue(run: Run, _: p.Continue) -> bool:
    if run.iteration is not None:
        run.jump(run.iteration)
    return False


def _delete(run: Run, node: p.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, p.Name):
            holder = run.frame.holder(target.id)
            if holder is run.frame or holder is run.frame.globals:
                run.heap.drop(holder.fields, target.id)
        elif isinstance(target, p.Index):
            value = run.resolve(run.evaluate(target.value))
            if isinstance(value, Sequence) and isinstance(target.key, p.Slice):
                container_methods.clear_sequence(run, value)
            elif isinstance(value, Sequence):
                container_methods.reordered(run, value)
        elif isinstance(target, p.Attribute):
            targets.delete_attribute(run, run.resolve(run.evaluate(target.value)), target.name)
    return True


def _outer(run: Run, node: p.Outer) -> bool:
    for name in node.names:
        run.frame.outer[name] = node.is_global
    return True


dispatch.STATEMENTS.update(
    {
        p.Annotate: _annotate,
        p.Assert: _assert,
        p.Evaluate: _evaluate,
        p.Return: _return,
        p.Raise: _raise,
        p.Break: _break,
        p.Continue: _continue,
        p.Delete: _delete,
        p.Outer: _outer,
    }
)
