"""What is found under a name on objects of classes, on classes, and on `super()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.language import invocation, kept, narrowing
from torch_doctor.static.program.choosing import leaves_out
from torch_doctor.static.tables import layers, libraries, models
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.methods import ENGINE_METHODS, MODULE_METHODS
from torch_doctor.static.training import plain_tensors
from torch_doctor.static.training.device import exchanging
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.module import library_models, module_parts, registering
from torch_doctor.static.training.unresolved import roles
from torch_doctor.static.training.update import adapters
from torch_doctor.static.values import (
    TRAINING,
    Bound,
    Call,
    ClassValue,
    Const,
    Fact,
    FunctionValue,
    Instance,
    Lib,
    Method,
    Module,
    ParameterValue,
    Params,
    Plain,
    Super,
    Unknown,
    Value,
    fresh_symbol,
    held,
)
from torch_doctor.static.values.texts import is_index

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def of_class(run: Run, value: ClassValue, name: str, _: p.Node) -> Value:
    """Take an attribute of a class."""
    if name == "__name__":
        return Const(value.name)
    found = value.find(name)
    if found is None:
        for base in value.mro():
            if isinstance(base, Lib):
                return Lib(f"{base.name}.{name}")
        return Unknown()
    attribute = found[0]
    if isinstance(attribute, FunctionValue) and attribute.style == "class":
        return Bound(attribute, value)
    return attribute


def of_super(run: Run, value: Super, name: str, node: p.Node) -> Value:
    """Take an attribute of `super()`."""
    thing = value.self
    cls = thing.cls if isinstance(thing, (Instance, Module)) else thing if isinstance(thing, ClassValue) else None
    if cls is None:
        return Unknown()
    # What comes after a library's class is taken for the library's.
    found = cls.find(name, after=value.cls) if isinstance(value.cls, ClassValue) else None
    if found is not None and isinstance(thing, Module) and _module_before(cls, found[1], value.cls):
        own = name == "__init__" or name in MODULE_METHODS
        found = None if own else found
    if found is not None:
        return _bound(run, found[0], thing, node)
    if isinstance(thing, Module):
        return Method(thing, f"super.{name}")
    return Method(thing, name)


def _module_before(cls: ClassValue, found: ClassValue, after: Value) -> bool:
    """Whether `nn.Module` itself stands before the class `found` in the order in which `super()` looks."""
    order = cls.mro()
    between = order[order.index(after) + 1 : order.index(found)] if after in order else ()
    return any(isinstance(base, Lib) and canonical(base.name) in layers.MODULE_BASES for base in between)


def _bound(run: Run, attribute: Value, thing: Value, node: p.Node) -> Value:
    if isinstance(attribute, FunctionValue):
        if attribute.style == "static":
            return attribute
        if attribute.style == "property":
            return invocation.enter(run, attribute, Call((thing,), {}, node))
        if attribute.style == "class" and isinstance(thing, (Instance, Module)) and thing.cls is not None:
            return Bound(attribute, thing.cls)
        return Bound(attribute, thing)
    return attribute


def of_instance(run: Run, value: Instance, name: str, node: p.Node) -> Value:
    """Take an attribute of an object of a class of the project."""
    found = value.fields.get(name)
    if isinstance(found, Value):
        return roles.of_attribute(run, value, name, run.resolve(found))
    inherited = value.cls.find(name)
    if inherited is not None:
        return roles.of_attribute(run, value, name, _bound(run, inherited[0], value, node))
    return roles.of_attribute(run, value, name, _not_assigned(run, value, name))


def _not_assigned(run: Run, value: Instance, name: str) -> Value:
    """What an object has under a name that nothing in sight gives it."""
    if name == "__class__":
        return value.cls
    if name == "__dict__":
        exchanging.perhaps_attributes(run, value)
        inside, symbol = held((value,)), kept.attributes_of(value)
        return Unknown(Flow(graph=None), inside, symbol) if inside else Plain(symbol)
    if value.cls.opaque_base() or value.cls.libraries():
        return Method(value, name)
    return Unknown(Flow(graph=None), held((value,)), (".", ("object", value.id), name))


def of_module(run: Run, value: Module, name: str, node: p.Node) -> Value:
    """Take an attribute of a module: its own, its class's, or one that torch gives it."""
    if name == "module" and value.shell:
        inner = run.objects.get(value.id)
        return inner if isinstance(inner, Module) else value
    found = value.fields.get(name)
    if isinstance(found, ParameterValue) and found.fact(Fact.ATTRIBUTE) is not None:
        plain_tensors.read(run, found, node)
    if isinstance(found, Value):
        return run.resolve(found)
    if name == "training":
        return _training(run, value, node)
    inherited = value.cls.find(name) if value.cls is not None else None
    if inherited is not None:
        return _bound(run, inherited[0], value, node)
    if name == "__dict__":
        exchanging.perhaps_attributes(run, value)
    return _of_torch(run, value, name) or _part(run, value, name)


def _training(run: Run, value: Module, node: p.Node) -> Value:
    """Whether the module is in training mode."""
    mode = modes.current_mode(run, value)
    function = run.frame.what
    fewer = function is not None and leaves_out(function.node.body, node, lambda func: _opaque(run, func))
    if value.cls is not None and fewer is False:
        run.heap.set(value.facts, Fact.READS_MODE, value=True)
    if value.cls is not None and fewer is not True:
        modes.met(run, ((None if fewer is None else True, mode),))
    return Plain((TRAINING, value.id, fresh_symbol())) if mode is None else Const(mode)


def _opaque(run: Run, func: p.Expr) -> bool:
    """Whether a function is a library's of which nothing is known."""
    value = run.resolve(run.evaluate(func))
    return isinstance(value, Lib) and not libraries.heard_of(value.name)


def _of_torch(run: Run, value: Module, name: str) -> Value | None:
    """What torch gives every module, or its layers; None where the name is none of theirs."""
    averaged = value.fact(Fact.AVERAGED)
    if name == "__call__" or (
        name == "module" and (averaged or value.cls is None)
    ):  # the way to what DataParallel wraps
        return value
    if (
        (name == "update_parameters" and averaged)
        or name in MODULE_METHODS
        or (name in ENGINE_METHODS and (value.cls is None or value.fact(Fact.ENGINE) is not None))
    ):
        return Method(value, name)
    if name in ("weight", "bias") and (value.table is not None or (value.cls is None and not value.layer)):
        known = value.table is not None  # else it stands for any of several
        among = name != "weight" or value.layer not in layers.WEIGHT_ALONE
        return Params(frozenset((value.id,)), whole=known, bias=name != "weight", single=True, among=among)
    if name.startswith(("weight_", "bias_")) and value.table is not None and value.table.parameters:
        return Params(frozenset((value.id,)), bias=True, single=True, among=True)  # one of several, `weight_ih_l0`
    if name == "__class__":
        found = narrowing.type_of(value)
        return Unknown() if isinstance(found, Plain) else found
    content = module_parts.listed(value)
    if content is not None and is_index(name) and int(name) < len(content.items):
        return content.items[int(name)]
    return None


def _part(run: Run, value: Module, name: str) -> Value:
    """A part of a module that was not built in sight, or what a library adds to one."""
    if name in adapters.METHODS and adapters.of_model(run, value):
        return Method(value, name)
    head = library_models.head_of(run, value.layer) if value.cls is None else None
    if head is not None and name in models.HEAD_METHODS:
        return Method(value, name)
    parts = models.parts(value.layer or value.fact(Fact.PART_OF)) if value.cls is None else {}
    if value.cls is None and (not value.layer or (head is not None and head[0] == name) or name in parts):
        cares = parts.get(name)
        return registering.part_of(run, value, name, cares=value.sensitive if cares else cares)
    if value.cls is not None and (value.cls.libraries() or value.cls.opaque_base()):
        return Method(value, name)
    return Unknown(Flow(graph=None), held((value,)), (".", ("object", value.id), name))
