"""Runs the constructors of project classes, written by hand or by `dataclass`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.language import commands, defaults, invocation, kept
from torch_doctor.static.training.frameworks import trainers
from torch_doctor.static.values import (
    Call,
    ClassValue,
    Default,
    Fact,
    FunctionValue,
    Instance,
    Module,
    Spread,
    Unknown,
    Value,
    fresh_symbol,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def initialise(run: Run, thing: Instance | Module, cls: ClassValue, call: Call) -> None:
    """Run the constructor that a class finds."""
    found = cls.find("__init__")
    if isinstance(thing, Instance):
        trainers.constructed(run, thing, call)
    if found is not None and isinstance(found[0], FunctionValue):
        invocation.enter(run, found[0], call.with_first(thing))
        return
    if isinstance(thing, Instance):
        trainers.told(run, thing, call)
    if any(isinstance(base, ClassValue) and base.fact(Fact.DATACLASS) for base in cls.mro()):
        _fill_dataclass(run, thing, cls, call)
        after = cls.find("__post_init__")
        if after is not None and isinstance(after[0], FunctionValue):
            invocation.enter(run, after[0], Call((thing,), {}, call.node))
    elif cls.opaque_base() or cls.libraries():
        _fill_out_of_sight(run, thing, cls, call)
        if isinstance(thing, Instance):
            kept.put_in(run, thing, call.values)


def _annotated(cls: ClassValue) -> list[str]:
    """The names that a class and its bases annotate, those of the bases first."""
    classes = [base for base in reversed(cls.mro()) if isinstance(base, ClassValue)]
    return list(dict.fromkeys(name for base in classes for name in base.fact(Fact.ANNOTATED)))


def _is_spread(call: Call) -> bool:
    return "**" in call.keywords or any(isinstance(each, Spread) for each in call.args)


def _fill_out_of_sight(run: Run, thing: Instance | Module, cls: ClassValue, call: Call) -> None:
    """A constructor that nobody can follow may give an annotated name what the call gives, whatever the class has there."""
    unclear = bool(call.args) or _is_spread(call)
    for name in _annotated(cls):
        default = cls.find(name)
        if name in call.keywords:
            run.heap.set(thing.fields, name, Unknown())
        elif unclear and default is not None:
            run.heap.set(thing.fields, name, _perhaps(default[0]))


def _fill_dataclass(run: Run, thing: Instance | Module, cls: ClassValue, call: Call) -> None:
    names = _annotated(cls)
    given = dict(zip(names, call.args, strict=False)) | call.keywords
    spread = _is_spread(call)
    for name in names:
        default = cls.find(name)
        value = Unknown() if default is None else _perhaps(default[0]) if spread else default[0]
        made = commands.made_by_factory(run, value, call) if name not in given else None
        run.heap.set(thing.fields, name, given.get(name) or made or value)


def _perhaps(default: Value) -> Value:
    """A field of which nobody knows whether the call gives it: a number is one by default."""
    value = defaults.by_default(default, fresh_symbol())
    return value if isinstance(value, Default) else Unknown()
