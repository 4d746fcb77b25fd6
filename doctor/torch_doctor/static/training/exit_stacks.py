"""Contexts that a stack enters by a call, and leaves all together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import libraries
from torch_doctor.static.training import places
from torch_doctor.static.training.device import autocasting
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.values import NOTHING, Bound, Call, Context, Instance, Plain, Tool, Unknown, Value, held
from torch_doctor.static.values.symbols import DEVICE

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run

_ENTERS = frozenset(("enter_context", "enter_async_context"))
_LEAVES = frozenset(("close", "aclose", "pop_all"))


def is_stack(value: Value) -> bool:
    """Whether this is a stack of contexts."""
    return isinstance(value, Tool) and value.name in libraries.STACKS


def method(run: Run, of: Tool, name: str, call: Call) -> Value | None:
    """A method of a stack of contexts; None for other things, and for methods that neither enter nor leave."""
    if of.name not in libraries.STACKS:
        return None
    if name in _ENTERS:
        return _enter(run, run.resolve(call.argument(0) or Unknown()), call.node)
    if name in _LEAVES:  # all that it entered is left, and nobody has counted
        _unknown(run, call.node)
        return of if name == "pop_all" else NOTHING
    return None


def by_hand(run: Run, of: Context, name: str, call: Call) -> Value:
    """`context.__enter__()`, which holds from here on, and `context.__exit__(...)`."""
    if name == "__enter__":
        return _enter(run, of, call.node)
    run.set_grad(of.name, None, call.node, leave=True)  # as it was before it was entered
    return NOTHING


def _enter(run: Run, context: Value, node: p.Node) -> Value:
    """What entering a context does, and what it gives."""
    if isinstance(context, Context):
        if context.previous is None:
            run.set_grad(context.name, context.enabled, node)
        return context
    autocast = autocasting.chosen(context)
    if autocast is not None:
        autocasting.enter(run, autocast)
        return context
    if isinstance(context, Instance):
        enter = run.attribute(context, "__enter__", node)
        if isinstance(enter, Bound):
            return run.call(enter, Call((), {}, node))
    if escaping.neutral(context):
        if isinstance(context, Plain) and context.symbol[0] == DEVICE:
            places.placed_by_default(run)  # from here on, all is made there
        return context
    escaping.passed(run, context, (), run.text(node), node)
    _unknown(run, node)
    return context if isinstance(context, Unknown) else Unknown(context.flow, held((context,)))


def _unknown(run: Run, node: p.Node) -> None:
    run.set_grad(run.text(node), None, node)
    run.heap.set(run.state.fields, autocasting.STATE, None)
    places.placed_by_default(run)
