"""Entry points: what nobody in sight calls is run on its own, with arguments of which only the role is known."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.budget import SHARE, STEPS_SCRIPT, STEPS_TRAINING, steps_for
from torch_doctor.static.flow import blend
from torch_doctor.static.language.invocation import MORE
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import lightning_fit, lightning_loops, trainer_loops
from torch_doctor.static.training.module import forwards
from torch_doctor.static.training.unresolved import arguments, constructing, entering, escaping
from torch_doctor.static.values import (
    BUILT,
    NOWHERE,
    Bound,
    Call,
    ClassValue,
    Fact,
    FunctionValue,
    Instance,
    Module,
    Unknown,
    Value,
    leaves,
)
from torch_doctor.trace import (
    Escaped,
    LoaderBuilt,
    LossBuilt,
    ModuleBuilt,
    OptimizerBuilt,
    Registered,
    ScalerBuilt,
    SchedulerBuilt,
    Trace,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Event


def initialised_by_heirs(trace: Trace, cls: ClassValue) -> None:
    """Say that other classes know what else has to be initialised in a module of this class, and when."""
    for event in trace.of(ModuleBuilt):
        if event.class_name == cls.name:
            trace.replace(event, base_initialised=None, early_member=None)


def use(run: Run, thing: Value, cls: p.Class) -> None:
    """Use an object that nobody in sight uses: a module is called, a trainer trains."""
    if isinstance(thing, Module):
        _use_module(run, thing)
    elif isinstance(thing, Instance):
        trainer_loops.alone(run, thing, cls)


def _use_module(run: Run, module: Module) -> None:
    """Call a module that nobody in sight calls."""
    assert module.cls is not None
    if lightning_fit.is_lightning(module.cls):
        lightning_loops.alone(run, module, module.cls.node)
        return
    found = module.cls.find("forward")
    if found is not None and isinstance(found[0], FunctionValue):
        _moved(run)
        call = constructing.call_of(run, found[0], module.cls.node, skip=1)
        answer = forwards.call_module(run, module, call.renamed(module.cls.name))
        for observe in run.observers.handed_back:
            observe(run, answer, found[0].node)


def method(run: Run, thing: Value, cls: ClassValue, function: p.Function) -> None:
    """Run one method of a fresh object, as somebody out of sight may."""
    attribute = run.attribute(thing, function.name, cls.node)
    if isinstance(attribute, Bound) and attribute.function.node is function:
        driven = _is_driven(cls) or _is_called(run.main, function) or _is_work_of_a_base(cls, function)
        _outside(run, driven=driven)
        with run.of(arguments.Guessing).override(building=driven):
            call = constructing.call_of(run, attribute.function, function, skip=1)
        own = entering.settle(run, thing) if isinstance(thing, Instance) else []
        entering.settle_optimizer(run, (*call.values, *own))
        result = run.call(attribute, Call(call.args, {**call.keywords, MORE: Unknown()}, call.node))
        _returned(run, result, function, thing)
    elif isinstance(attribute, FunctionValue):
        enter(run, attribute)


def enter(run: Run, function: FunctionValue) -> None:
    """Run a function whose callers are out of sight."""
    driven = _is_called(run.main, function.node)
    _outside(run, driven=driven)
    with run.of(arguments.Guessing).override(building=driven):
        call = constructing.call_of(run, function, function.node, skip=0)
    entering.settle_optimizer(run, call.values)
    target: Value = function
    result = run.call(target, Call(call.args, {**call.keywords, MORE: Unknown()}, call.node))
    _returned(run, result, function.node)


def _outside(run: Run, *, driven: bool) -> None:
    """Begin as torch does: autograd records, and modules train; where a base class out of sight calls, nobody knows."""
    if driven:
        run.heap.set(run.state.fields, "grad", None)
        for thing in run.objects.of(Module):
            if not thing.fact(Fact.REGISTERED):
                modes.put(run, thing, None)
    _moved(run)


def _is_driven(cls: ClassValue) -> bool:
    """Whether a base class out of sight may call the methods of a class: none of Python's own does."""
    roots = {name.partition(".")[0] for name in cls.libraries()}
    return cls.opaque_base() or not roots <= {"builtins", *sys.stdlib_module_names}


def _is_called(unit: Unit, function: p.Function) -> bool:
    """Whether the file calls a function, which no run could follow so far: nobody knows what came before."""
    return not unit.calls.isdisjoint((function.name, f"self.{function.name}"))


def _is_work_of_a_base(cls: ClassValue, function: p.Function) -> bool:
    """Whether a base class in another file has this method, or calls it: who uses the base begins it, and nobody knows how."""
    bases = [base for base in cls.mro()[1:] if isinstance(base, ClassValue) and base.unit is not cls.unit]
    return any(f"self.{function.name}" in base.unit.calls or function in methods(base.node) for base in bases)


def _moved(run: Run) -> None:
    """Callers out of sight may have moved every module."""
    for thing in run.objects.of(Module):
        if thing.fact(Fact.ORIGIN) is BUILT:
            run.heap.set(thing.facts, Fact.ORIGIN, NOWHERE)


def _returned(run: Run, value: Value, function: p.Function, *owner: Value) -> None:
    """What a function returns to callers out of sight, or leaves with a graph in its object, is theirs to use."""
    for observe in run.observers.handed_back:
        observe(run, value, function)
    inside = [value, *(each for each in escaping.attributes(owner) if each.flow.graph is not False)]
    flow = blend(each.flow for each in inside)
    graphs = blend(each.flow for each in leaves(*inside) if each.flow.graph is not False)
    if flow.forwards or flow.retained:
        left = {"forwards": flow.forwards, "outputs": graphs.forwards, "retained": flow.retained}
        run.emit(Escaped, function, to="the caller", returned=True, **left)


_BUILT = (LoaderBuilt, LossBuilt, ModuleBuilt, OptimizerBuilt, Registered, ScalerBuilt, SchedulerBuilt)


def built(run: Run) -> Trace:
    """What the file itself built, as if all that it imports had been executed before."""
    trace = run.trace
    others = [path for path in run.brought if path != run.main.source.path]
    brought = [numbers for path in others for numbers in run.brought[path]]
    own: list[Event] = [
        event
        for event in trace.events
        if isinstance(event, _BUILT) and not any(event.index in numbers for numbers in brought)
    ]
    return Trace(trace.path, own, trace.branches, begins_outside=True)


def begun(trace: Trace, top: Trace) -> Trace:
    """The trace of what is run on its own, with what the file's top level built before it."""
    trace.branches.extend(top.branches)
    for event in top.events:
        if isinstance(event, _BUILT):
            trace.add(event)
    return trace


# --- in which order, and what is worth it ---


def in_order(unit: Unit) -> list[tuple[str, p.Class | None]]:
    """The functions and classes of a file by name: functions that no other calls, other functions, classes.

    Of the functions, those that lead to training come first: when the steps are used up, the others are left out.
    Of classes those come first from which no other class of the file inherits: what is abstract is run by its heirs.
    """
    called, trains = _called_in(unit), unit.leading
    functions, classes = unit.program.functions, unit.program.classes
    bases = {base.id for cls in classes.values() for base in cls.bases if isinstance(base, p.Name)}
    return [
        *((name, None) for name in sorted(functions, key=lambda name: (functions[name] not in trains, name in called))),
        *sorted(classes.items(), key=lambda item: item[1].name in bases),
    ]


def left_alone(unit: Unit, entered: set[p.Function]) -> list[str]:
    """The names of the functions that no run has entered, and of the classes that have such methods."""
    functions, classes = unit.program.functions.values(), unit.program.classes.values()
    return [
        *(function.name for function in functions if function not in entered),
        *(cls.name for cls in classes if not entered.issuperset(methods(cls))),
    ]


def methods(cls: p.Class) -> list[p.Function]:
    """The functions that a class defines."""
    return [statement.function for statement in cls.body if isinstance(statement, p.Define)]


def of_object(cls: ClassValue) -> list[p.Function]:
    """The methods that an object of a class has: its own, and those of its bases in sight that it does not define anew."""
    found = methods(cls.node)
    for base in cls.mro()[1:]:
        for function in methods(base.node) if isinstance(base, ClassValue) else ():
            meant = cls.find(function.name)
            if meant is not None and isinstance(meant[0], FunctionValue) and meant[0].node is function:
                found.append(function)
    return found


TRAINS = frozenset({"backward", "step", "zero_grad", "eval", "train", "save"})
"""Methods that tell a training loop; they decide how much is looked at, never what is found."""


def steps_of(unit: Unit, *, outside: bool) -> int:
    """The steps that a run of a file may take; outside: that something of it is run on its own afterwards."""
    return steps_for(len(unit.source.lines), STEPS_TRAINING if _trains(unit) and not outside else STEPS_SCRIPT)


def share_of(unit: Unit, *, outside: bool) -> float:
    """The part of the steps of a run of a file that is kept for what comes after a long call."""
    return SHARE if _trains(unit) and not outside else 0.0


def _trains(unit: Unit) -> bool:
    return any(f".{name}(" in unit.source.text for name in TRAINS)


def may_train(function: p.Function) -> bool:
    """Whether a function is worth steps that its file no longer has: it names what a training loop does."""
    return any(not TRAINS.isdisjoint(attributes) for attributes in function.uses.values())


def cut_off(run: Run) -> frozenset[p.Function]:
    """The functions that a run which was given up had not left, and that may say more when they are run on their own."""
    functions = {entered.node for entered in run.stack}
    return frozenset(each for each in functions if each.parameters and may_train(each))


_FIRST = ("fit", "train", "run", "main", "__call__", "learn", "start", "train_model")


def by_drive(function: p.Function) -> tuple[int, int]:
    """Order methods so that those that run the others come first."""
    rank = _FIRST.index(function.name) if function.name in _FIRST else len(_FIRST)
    return rank, function.at[0]


def _called_in(unit: Unit) -> set[str]:
    """Names that some function of the file calls."""
    names: set[str] = set()
    for function in unit.program.functions.values():
        names |= function.calls - {function.name}
    for cls in unit.program.classes.values():
        for method in methods(cls):
            names |= method.calls
    return names
