"""Variables that are called and get the result: the next call is a call of what the first one returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.tables import losses
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Either, Lib, Module, Tensor, Unknown, Value
from torch_doctor.trace import Overwritten

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


class Replaced(Knowledge):
    """Values in the place of what returned them."""

    def __init__(self) -> None:
        self.events: dict[int, tuple[Value, Overwritten]] = {}  # by id


def callee(run: Run, node: p.Assign) -> p.Name | p.Attribute | None:
    """What is called and assigned to in one statement."""
    func = node.value.func if isinstance(node.value, p.Call) else None
    for target in node.targets:
        if isinstance(func, p.Name) and isinstance(target, p.Name) and func.id == target.id:
            return target
        if isinstance(func, p.Attribute) and isinstance(target, p.Attribute) and func.name == target.name:
            return target if run.text(func) == run.text(target) else None
    return None


def loss_in(value: Value) -> str:
    """The torch name of the loss that a value is; "" for anything else."""
    if isinstance(value, Either):
        names = {loss_in(option) for _, option in value.options}
        return "" if "" in names else min(names)
    name = value.layer if isinstance(value, Module) else canonical(value.name) if isinstance(value, Lib) else ""
    return name if name in losses.LOSSES else ""


def overwritten(run: Run, target: p.Name | p.Attribute, old: Value, new: Value, node: p.Node) -> None:
    """Write that a callable was replaced by the tensor that it returned."""
    options = [option for _, option in new.options] if isinstance(new, Either) else [new]
    if id(old) in run.of(Replaced).events or not all(isinstance(option, (Tensor, Unknown)) for option in options):
        return
    name = run.text(target)
    fails = _unbound(run, target) or _registered(run, target, old, options)
    event = run.emit(
        Overwritten,
        node,
        name=name,
        loss=loss_in(old),
        result=run.fact(new),
        fails_at=run.site(node) if fails else None,
    )
    for option in options:
        run.of(Replaced).events[id(option)] = (option, event)


def called(run: Run, func: Value, node: p.Node) -> None:
    """Note the call of what replaced a callable."""
    options = [option for _, option in func.options] if isinstance(func, Either) else [func]
    found = [run.of(Replaced).events.get(id(option)) for option in options]
    events = [event for known in found if known is not None for event in known[1:]]
    if len(events) == len(options) and run.trace.latest(events[0]).fails_at is None:
        run.trace.replace(events[0], fails_at=run.site(node))


def _unbound(run: Run, target: p.Name | p.Attribute) -> bool:
    """Whether the name is the function's own and has no value yet: it was looked up outside."""
    frame = run.frame
    return (
        isinstance(target, p.Name)
        and frame.what is not None
        and frame.outer.get(target.id) is None
        and target.id not in frame.fields
    )


def _registered(run: Run, target: p.Name | p.Attribute, old: Value, new: list[Value]) -> bool:
    """Whether a module would have to hold a tensor where it has a registered module, which it refuses."""
    if not isinstance(target, p.Attribute) or not isinstance(old, Module):
        return False
    holder = run.resolve(run.evaluate(target.value))
    return isinstance(holder, Module) and all(isinstance(value, Tensor) for value in new)
