"""Constructs objects of project classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.language import constructors, unfinished
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import drawing
from torch_doctor.static.training.frameworks import lightning_cli
from torch_doctor.static.training.module import module_building, module_classes
from torch_doctor.static.training.update import construction, parameters
from torch_doctor.static.values import (
    Call,
    ClassValue,
    Fact,
    FunctionValue,
    Instance,
    Loader,
    Value,
    held,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def instantiate(run: Run, cls: ClassValue, call: Call) -> Value:
    """Construct an object of a project class."""
    return unfinished.within_share(run, cls, call, lambda: _constructed(run, cls, call))


def _constructed(run: Run, cls: ClassValue, call: Call) -> Value:
    if module_classes.is_module_class(run, cls):
        return module_building.build_module(run, cls, call)
    special = special_instance(run, cls, call)
    if special is not None:
        return special
    thing: Instance = run.own(Instance(cls, run.site(call.node)))
    before = (run.of(drawing.Drawing).calls, run.of(drawing.Drawing).reorders)
    constructors.initialise(run, thing, cls, call)
    if lightning_cli.is_cli(cls):
        lightning_cli.started(run, thing, call)
    drawing.remember_arguments(run, thing, call, before)
    return thing


def _clears(cls: ClassValue) -> bool:
    """Whether a method of an optimizer of the project clears gradients: its step may call that."""
    nodes = (
        each.node
        for base in cls.mro()
        if isinstance(base, ClassValue)
        for each in base.fields.values()
        if isinstance(each, FunctionValue)
    )
    calls = (each.func for node in nodes for each in walk(node) if isinstance(each, p.Call))
    return any(isinstance(func, p.Attribute) and func.name == "zero_grad" for func in calls)


def special_instance(run: Run, cls: ClassValue, call: Call) -> Value | None:
    """Construct an object of a project class that derives from a library's optimizer, loader or scheduler; else None."""
    names = [canonical(name) for name in cls.libraries()]
    thing: Value | None = None
    if any(training.optimizer_of(name) or name in training.OPTIMIZER_BASES for name in names):
        if cls.find("step") is not None and construction.optimizer_in(run, held(call.values)):
            return None  # it steps others, as its methods say
        modules, whole = parameters.parameters_in(run, call.args[:1] or call.keywords.values())
        thing = construction.make_optimizer(run, cls.name, modules, call.node, whole=whole)
        thing.facts[Fact.CLEARS] = cls.find("step") is not None and _clears(cls)
    elif any(training.loader_of(name) for name in names):
        thing = run.own(Loader(run.site(call.node), cls.name))
        if any(cls.find(name) is not None for name in ("__iter__", "__next__")):
            thing.facts[Fact.ELSEWHERE] = True  # what it gives may come from anywhere
    elif any(training.scheduler_of(name) or name in training.SCHEDULER_BASES for name in names):
        base = "torch.optim.lr_scheduler.LRScheduler"
        thing = construction.make_scheduler(run, base, cls.name, call.values, call.node)
    return thing
