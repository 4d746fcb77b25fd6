"""Executes `with`: grad modes, project context managers and generators made into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.budget import RAISING
from torch_doctor.static.language import invocation, targets
from torch_doctor.static.training import exit_stacks, mending, places
from torch_doctor.static.training.device import autocasting
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
    Context,
    Instance,
    Module,
    Plain,
    Raising,
    Suspended,
    Unknown,
    Value,
    held,
    latest,
)
from torch_doctor.static.values.symbols import DEVICE

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


def _with(run: Run, node: p.With) -> bool:
    context = run.resolve(run.evaluate(node.context))
    if isinstance(context, Raising):
        return _that_raises(run, node)
    for observe in run.observers.opened:
        observe(run, context, node.context)
    context = mending.called(run, node.context, context)
    alive = _within(run, node, context)
    for observe in run.observers.closed:
        observe(run, context, node.context)
    return alive


def _that_raises(run: Run, node: p.With) -> bool:
    """A block that raises somewhere: nothing in it is done for its result, and what follows goes on."""
    if node.target is not None:
        targets.bind(run, node.target, Plain(), node)
    with run.aside(RAISING):
        run.block(node.body)
    return True


def _within(run: Run, node: p.With, context: Value) -> bool:
    if isinstance(context, Context):
        before = context.previous if context.previous is not None else run.grad
        restore = before[0] if isinstance(before, tuple) else before
        if context.previous is None:
            run.set_grad(context.name, context.enabled, node.context)
        alive = run.block(node.body)
        if alive:
            run.set_grad(context.name, restore, node.context, leave=True)  # type: ignore[arg-type]
        else:
            _leave_dead(run, restore)
        return alive
    autocast = autocasting.chosen(context)
    if autocast is not None:
        before_ = autocasting.enter(run, autocast)
        alive = run.block(node.body)
        if alive:
            autocasting.leave(run, before_, node.context)
        else:
            _leave_dead(run, before_, autocasting.STATE)
        return alive
    if isinstance(context, Suspended):
        return _with_generator(run, node, context)
    if exit_stacks.is_stack(context):
        return _with_stack(run, node, context)
    if not escaping.neutral(context) and not _followed(run, context, node):
        return _with_opaque(run, node, context)
    if isinstance(context, Plain) and context.symbol[0] == DEVICE:
        places.placed_by_default(run)  # within, all is made there
    entered: Value = context
    enter = run.attribute(context, "__enter__", node) if isinstance(context, Instance) else None
    if isinstance(enter, Bound):
        entered = run.call(enter, Call((), {}, node))
    if node.target is not None:
        targets.bind(run, node.target, entered, node)
    alive = run.block(node.body)
    if isinstance(context, Instance):
        leave = run.attribute(context, "__exit__", node)
        if isinstance(leave, Bound):
            run.call(leave, Call((NOTHING, NOTHING, NOTHING), {}, node))
    return alive


def _followed(run: Run, context: Value, node: p.With) -> bool:
    """Whether what entering it does is in sight."""
    return isinstance(context, Instance) and isinstance(run.attribute(context, "__enter__", node), Bound)


def _with_opaque(run: Run, node: p.With, context: Value) -> bool:
    """`with` on what nobody can follow: it may switch autograd, and change all that it holds, at both ends."""
    modes = _modes(run)
    escaping.passed(run, context, (), run.text(node.context), node.context)
    run.set_grad(run.text(node.context), None, node.context)
    run.heap.set(run.state.fields, autocasting.STATE, None)
    if node.target is not None:
        targets.bind(
            run, node.target, context if isinstance(context, Unknown) else Unknown(context.flow, held((context,))), node
        )
    before, newest = dict(run.frame.fields), latest()
    alive = run.block(node.body)
    _restore(run, node, modes, alive=alive, switched=True)
    escaping.passed(run, context, (), run.text(node.context), node.context)
    made = [each.id for each in run.objects.of(Module) if each.id > newest]
    places.lost_sight(run, made, ())  # it may be what tells where tensors are made
    for name, value in run.frame.fields.items():
        if value is not before.get(name) and isinstance(value, Value):
            places.disturbed(run, value)
    return alive


def _with_stack(run: Run, node: p.With, stack: Value) -> bool:
    """`with ExitStack()`: what the block enters by it is left behind the block."""
    modes = _modes(run)
    if node.target is not None:
        targets.bind(run, node.target, stack, node)
    alive = run.block(node.body)
    _restore(run, node, modes, alive=alive, switched=run.grad is not modes[0])
    return alive


def _modes(run: Run) -> tuple[Tri, object]:
    """Whether autograd records, and the autocast that holds."""
    return run.grad, run.state.fields.get(autocasting.STATE)


def _restore(run: Run, node: p.With, modes: tuple[Tri, object], *, alive: bool, switched: bool) -> None:
    """Leave a block in which both modes may have been switched."""
    grad, autocast = modes
    if not alive:
        _leave_dead(run, grad)
        _leave_dead(run, autocast, autocasting.STATE)
        return
    if switched:
        run.set_grad(run.text(node.context), grad, node.context, leave=True)
    run.heap.set(run.state.fields, autocasting.STATE, autocast)


def _leave_dead(run: Run, restore: Any, mode: str = "grad") -> None:
    """Restore the mode in the states that left the block by jumping: they are on their way to a landing."""
    key = (id(run.state.fields), mode)
    run.heap.set(run.state.fields, mode, restore)
    for landing in (run.iteration, run.loop, run.frame.returns):
        if landing is None:
            continue
        for arrival in landing.arrivals:
            if key in arrival:
                arrival[key] = (run.state.fields, mode, restore)


def _with_generator(run: Run, node: p.With, context: Suspended) -> bool:
    """`with` on a project generator made a context manager: the block runs where it yields."""
    outer = run.frame
    alive = [True]

    def inside(value: Value) -> Value:
        inner, run.position.frame = run.frame, outer
        if node.target is not None:
            targets.bind(run, node.target, value, node)
        alive[0] = run.block(node.body)
        run.position.frame = inner
        return NOTHING

    invocation.enter(run, context.func, Call(context.args, context.keywords, node), on_yield=inside)
    return alive[0]


dispatch.STATEMENTS.update(
    {
        p.With: _with,
    }
)
