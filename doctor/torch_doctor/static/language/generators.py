"""Loops over generators that train: what comes before and behind a `yield` runs between the passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.landing import Landing
from torch_doctor.static.language import call_arguments, courses, invocation, targets
from torch_doctor.static.program.walking import walk
from torch_doctor.static.values import NOTHING, Bound, Call, ClassValue, FunctionValue, Instance, Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Collection

    from torch_doctor.static.run import Run

_UPDATES = frozenset(("zero_grad", "backward"))


def goes_through(run: Run, node: p.For) -> bool:
    """Execute a loop over a project's generator that takes part in updates, if it is one that always ends with it.

    That is the call of a function, or an object whose `__iter__` is a generator.
    """
    if courses.leaves(node.body):
        return False
    func = _generator(run, node.over.func) if isinstance(node.over, p.Call) else None
    if func is not None and isinstance(node.over, p.Call):
        call = call_arguments.call_of(run, node.over)
    elif isinstance(found := _named(run, node.over), Instance) and (func := _iterated(found)) is not None:
        call = Call((), {}, node)
    else:
        return False
    if isinstance(func, Bound):
        _interleave(run, node, func.function, call.with_first(func.self))
    else:
        _interleave(run, node, func, call)
    return True


def trains_beside(run: Run, node: p.For) -> bool:
    """Whether a loop goes through such a generator in a way that cannot be followed: counted, kept before, or left early."""
    parts = list(walk(node.over))
    holders = {id(each.value) for each in parts if isinstance(each, p.Attribute)}
    return any(_is_one(run, each) for each in parts if id(each) not in holders)


def _is_one(run: Run, node: p.Node) -> bool:
    if isinstance(node, p.Call):
        return _generator(run, node.func) is not None
    found = _named(run, node)
    cls = found.cls if isinstance(found, Instance) else found
    if isinstance(cls, ClassValue):
        methods = [method[0] for name in ("__iter__", "__next__") if (method := cls.find(name)) is not None]
        return any(isinstance(each, FunctionValue) and _takes_part(each.node) for each in methods)
    made_by = found.function if isinstance(found, Sequence) else None
    return isinstance(made_by, FunctionValue) and _updates(made_by.node)


def _named(run: Run, node: p.Node) -> Value | None:
    """What a name stands for, or an attribute that an object has itself."""
    if isinstance(node, p.Name):
        return run.resolve(run.evaluate(node))
    holder = _named(run, node.value) if isinstance(node, p.Attribute) else None
    found = holder.fields.get(node.name) if isinstance(holder, Instance) and isinstance(node, p.Attribute) else None
    return run.resolve(found) if isinstance(found, Value) else None


def _iterated(thing: Instance) -> Bound | None:
    """The `__iter__` of an object, where it is such a generator."""
    found = thing.cls.find("__iter__")
    function = found[0] if found is not None else None
    return Bound(function, thing) if isinstance(function, FunctionValue) and _updates(function.node) else None


def _generator(run: Run, func: p.Expr) -> FunctionValue | Bound | None:
    """The project's generator that is called so, where it takes part in updates."""
    if not isinstance(func, (p.Name, p.Attribute)) or not _may_be_one(run, func):
        return None
    value = run.resolve(run.evaluate(func))
    if not isinstance(value, (FunctionValue, Bound)):
        return None
    function = value.function if isinstance(value, Bound) else value
    return value if _updates(function.node) else None


def _may_be_one(run: Run, func: p.Name | p.Attribute) -> bool:
    """Whether a function of the file has this name and is such a generator; what others define is not asked for."""
    name = func.id if isinstance(func, p.Name) else func.name
    program = run.frame.unit.program
    methods = (each.function for cls in program.classes.values() for each in cls.body if isinstance(each, p.Define))
    return any(each.name == name and _updates(each) for each in (*program.functions.values(), *methods))


def _updates(function: p.Function) -> bool:
    """Whether a function is a generator that takes part in updates; the steps of an environment get an action, and are none."""
    return function.generator and _takes_part(function)


def _takes_part(function: p.Function) -> bool:
    return any(map(_update, function.uses.values()))


def _update(attributes: Collection[str]) -> bool:
    steps = "step" in attributes and ("step(...)" not in attributes or "update" in attributes)
    return steps or not _UPDATES.isdisjoint(attributes)


def _interleave(run: Run, node: p.For, function: FunctionValue, call: Call) -> None:
    """Execute the generator, and the loop's body wherever it yields."""
    outer = run.frame

    def inside(value: Value) -> Value:
        with run.override(frame=outer):
            targets.bind(run, node.target, value, node)
            landing = Landing(run.heap.mark(), run.fork_depth)
            with run.override(iteration=landing):
                run.land(landing, alive=run.block(node.body))
        return NOTHING

    invocation.enter(run, function, call, on_yield=inside)
