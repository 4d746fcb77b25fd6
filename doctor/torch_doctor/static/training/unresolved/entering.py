"""What is settled of objects and arguments before a function is entered from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.tables import losses
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import roles, usage
from torch_doctor.static.values import (
    Const,
    Fact,
    FunctionValue,
    Instance,
    Loader,
    Module,
    Optimizer,
    Plain,
    Unknown,
    Value,
    from_argument,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run


def settle(run: Run, thing: Instance) -> list[Value]:
    """Give the attributes of an object the roles that the methods of its class show, and return them.

    What is still None and has another method to be assigned by, somebody may have assigned by now.
    """
    uses = usage.in_class(run, thing.cls)
    settled = [_read(run, thing, path) for path in sorted(uses.marks)]
    for name, field in sorted(thing.fields.items(), key=str):
        if not isinstance(name, str) or not isinstance(field, Value):
            continue
        value = run.resolve(field)
        if isinstance(value, Const) and value.value is None and name in thing.cls.unit.program.assigned:
            unknown = Unknown(Flow(graph=None), symbol=(".", ("object", thing.id), name))
            found = roles.by_use(run, name, unknown, uses.of(f"self.{name}")) or unknown
        else:
            found = roles.of_attribute(run, thing, name, value)
            if found is not value and isinstance(found, (Loader, Module)) and _given(value):
                run.heap.set(found.facts, Fact.HANDED_IN, value=True)
        if found is not value:
            run.heap.set(thing.fields, name, found)
        settled.append(found)
    return [value for value in settled if value is not None]


def _given(value: Value) -> bool:
    """Whether it is an argument of the constructor, or lies within one."""
    return isinstance(value, (Plain, Unknown)) and from_argument(value.symbol)


def _read(run: Run, thing: Instance, path: str) -> Value | None:
    """What `self.x` is where a property gives it, or a base class out of sight has assigned it; None for anything else."""
    first, _, name = path.partition(".")
    found = thing.cls.find(name)
    is_property = found is not None and isinstance(found[0], FunctionValue) and found[0].style == "property"
    if first != "self" or not name or "." in name or name in thing.fields or not (found is None or is_property):
        return None
    return run.attribute(thing, name, thing.cls.node)


def settle_optimizer(run: Run, values: Iterable[object]) -> None:
    """Let an optimizer that comes from outside have the parameters of the module that comes with it, if both are the only ones."""
    resolved = [run.resolve(value) for value in values if isinstance(value, Value)]
    optimizers = {each.id: each for each in resolved if isinstance(each, Optimizer)}
    modules = {each.id: each for each in resolved if isinstance(each, Module) and each.layer not in losses.LOSSES}
    if len(optimizers) == len(modules) == 1:
        (optimizer,), (module,) = optimizers.values(), modules.values()
        if not optimizer.class_name and not optimizer.modules:
            run.heap.set(optimizer.facts, Fact.TAKEN, module_parts.parts_of(run, module).owners)
