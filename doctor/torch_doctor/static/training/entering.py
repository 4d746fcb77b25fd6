"""What is settled of objects and arguments before a function is entered from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import losses
from torch_doctor.static.training import module_parts, roles, usage
from torch_doctor.static.values import Const, Fact, Instance, Module, Optimizer, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run


def settle(run: Run, thing: Instance) -> None:
    """Give the attributes of an object the roles that the methods of its class show.

    What is still None and has another method to be assigned by, somebody may have assigned by now.
    """
    for path in sorted(usage.in_class(run, thing.cls).marks):
        first, _, name = path.partition(".")
        value = thing.fields.get(name)
        if first != "self" or "." in name or not isinstance(value, Value):
            continue
        value = run.resolve(value)
        if isinstance(value, Const) and value.value is None and name in thing.cls.unit.program.assigned:
            uses = usage.in_class(run, thing.cls).of(path)
            found = roles.by_use(run, name, Unknown(symbol=(".", ("object", thing.id), name)), uses)
        else:
            found = roles.of_attribute(run, thing, name, value)
        if found is not None and found is not value:
            run.heap.set(thing.fields, name, found)


def settle_optimizer(run: Run, values: Iterable[object]) -> None:
    """Let an optimizer that comes from outside have the parameters of the module that comes with it, if both are the only ones."""
    resolved = [run.resolve(value) for value in values if isinstance(value, Value)]
    optimizers = {each.id: each for each in resolved if isinstance(each, Optimizer)}
    modules = {each.id: each for each in resolved if isinstance(each, Module) and each.layer not in losses.LOSSES}
    if len(optimizers) == len(modules) == 1:
        (optimizer,), (module,) = optimizers.values(), modules.values()
        if not optimizer.class_name and not optimizer.modules:
            run.heap.set(optimizer.facts, Fact.TAKEN, module_parts.parts_of(run, module).owners)
