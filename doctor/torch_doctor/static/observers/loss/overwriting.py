"""Variables that are called and get the result: the next call is a call of what the first one returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import losses
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Call, Either, Lib, Module, Tensor, Unknown, Value
from torch_doctor.trace import Overwritten

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


class Overwriting(Observer):
    """Callables that are replaced by what they returned, and the call that then fails."""

    writes = (Overwritten,)

    _events: dict[int, tuple[Value, Overwritten]] = per_run(
        dict
    )  # by the id of what is in the place of what returned it
    _last: tuple[p.Node, Value] | None = per_run()  # the call in the source that returned last, and what it called

    @override
    def called(self, _: Run, func: Value, call: Call, __: Value) -> None:
        """Remember what is called: what it returns may be about to be assigned."""
        self._last = call.node, func

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """Write that a callable is replaced by the tensor that it returned."""
        target = _callee(run, node) if self._last is not None and self._last[0] is node.value else None
        if target is None or self._last is None:
            return
        old = run.resolve(self._last[1])
        options = [option for _, option in value.options] if isinstance(value, Either) else [value]
        if id(old) in self._events or not all(isinstance(option, (Tensor, Unknown)) for option in options):
            return
        fails = _unbound(run, target) or _registered(run, target, old, options)
        event = run.emit(
            Overwritten,
            node,
            name=run.text(target),
            loss=_loss_in(old),
            result=run.fact(value),
            fails_at=run.site(node) if fails else None,
        )
        for option in options:
            self._events[id(option)] = (option, event)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Note the call of what replaced a callable."""
        if not self._events:
            return
        options = [option for _, option in func.options] if isinstance(func, Either) else [func]
        found = [self._events.get(id(option)) for option in options]
        events = [event for known in found if known is not None for event in known[1:]]
        if len(events) == len(options) and run.trace.latest(events[0]).fails_at is None:
            run.trace.replace(events[0], fails_at=run.site(call.node))


def _callee(run: Run, node: p.Assign) -> p.Name | p.Attribute | None:
    """What is called and assigned to in one statement."""
    func = node.value.func if isinstance(node.value, p.Call) else None
    for target in node.targets:
        if isinstance(func, p.Name) and isinstance(target, p.Name) and func.id == target.id:
            return target
        if isinstance(func, p.Attribute) and isinstance(target, p.Attribute) and func.name == target.name:
            return target if run.text(func) == run.text(target) else None
    return None


def _loss_in(value: Value) -> str:
    """The torch name of the loss that a value is; "" for anything else."""
    if isinstance(value, Either):
        names = {_loss_in(option) for _, option in value.options}
        return "" if "" in names else min(names)
    name = value.layer if isinstance(value, Module) else canonical(value.name) if isinstance(value, Lib) else ""
    return name if name in losses.LOSSES else ""


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
