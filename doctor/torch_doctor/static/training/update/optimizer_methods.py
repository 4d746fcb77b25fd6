"""Methods of optimizers, gradient scalers, schedulers and other objects of libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.domains.accounts import windows
from torch_doctor.static.flow import blend
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import libraries, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import exit_stacks, sums
from torch_doctor.static.training.checkpoint import checkpoints, loading
from torch_doctor.static.training.frameworks import framework_calls
from torch_doctor.static.training.graph import keeping
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.training.update import construction, gradients, parameters, step_hooks
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
    Either,
    Fact,
    FunctionValue,
    Method,
    Optimizer,
    Partial,
    Plain,
    Tensor,
    Tool,
    Unknown,
    Value,
    either,
)
from torch_doctor.trace import (
    ScalerUpdated,
    SchedulerStepped,
    Stepped,
    Unscaled,
    ZeroGrad,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def optimizer_method(run: Run, of: Optimizer, name: str, call: Call) -> Value:
    """Call a method of an optimizer; where a library keeps windows, steps and clearings wait for their end."""
    guards = run.guards
    if name in ("step", "zero_grad"):
        run.position.guards = guards | windows.waits(run, of, call.node)
    try:
        return _method(run, of, name, call)
    finally:
        run.position.guards = guards


def _method(run: Run, of: Optimizer, name: str, call: Call) -> Value:
    if name == "step":
        closure = call.argument(0, "closure") or NOTHING
        called: Value = NOTHING
        given = isinstance(closure, (FunctionValue, Bound, Partial))
        if given:
            called = _evaluated_again(run, of, closure, call)
        elif isinstance(closure, (Unknown, Either)) or not (of.class_name or closure is NOTHING):
            escaping.hand_over(run, call.receiver, (of, *call.values), call.values, call.node)
        gradients.stepped(run, of, call.node, call.receiver, closure=given)
        if of.fact(Fact.CLEARS):
            run.emit(ZeroGrad, call.node, target=of.id, name=call.receiver, modules=of.modules, whole=of.whole)
        return called
    if name == "zero_grad":
        run.emit(ZeroGrad, call.node, target=of.id, name=call.receiver, modules=of.modules, whole=of.whole)
        return NOTHING
    if name == "add_param_group":
        modules, whole = parameters.parameters_in(run, call.args)
        run.heap.set(of.facts, Fact.TAKEN, of.modules | modules)
        run.heap.set(of.facts, Fact.COMPLETE, of.whole and whole)
        return NOTHING
    if name in step_hooks.METHODS:
        return step_hooks.registered(run, of, call, before=step_hooks.METHODS[name])
    if name == "state_dict":
        return checkpoints.state_dict(run, call.node, checkpoints.OPTIMIZER_STATE)
    if name == "load_state_dict":
        return loading.loaded(run, of, call)
    if name in ("train", "eval"):
        return NOTHING
    if name == "backward":  # a wrapper that runs it: optimizer.backward(loss)
        for value in call.args[:1]:
            gradients.backward(run, value, Call((), {}, call.node, run.text(call.node)), through=name)
        return NOTHING
    return opaque_calls.opaque(run, Method(of, name), call.renamed(call.receiver))


@library_family(training.OPTIMIZER_STEPS)
def stepped(run: Run, name: str, call: Call) -> Value | None:
    """A function of a library steps the optimizer that it is given."""
    position = training.OPTIMIZER_STEPS[name]
    optimizer = call.argument(position, "optimizer")
    if not isinstance(optimizer, Optimizer):
        return None
    gradients.stepped(run, optimizer, call.node, run.text_of_argument(call.node, position, "optimizer"))
    return Plain()


def _evaluated_again(run: Run, of: Optimizer, closure: Value, call: Call) -> Value:
    """What the closure of a step returns: torch's optimizers switch autograd on for it, and others may."""
    grad = run.grad
    if grad is not True:
        run.set_grad(of.class_name, True if of.class_name.startswith("torch.") else None, call.node)
    returned = run.call(closure, Call((), {}, call.node))
    if grad is not True:
        run.set_grad(of.class_name, grad, call.node, leave=True)
    return returned


def _scaled(run: Run, loss: Value) -> Value:
    """A loss that a gradient scaler multiplied."""
    loss = run.resolve(loss)
    if isinstance(loss, Either):
        return either((facts, _scaled(run, option)) for facts, option in loss.options)
    if isinstance(loss, (Tensor, Unknown)):
        return keeping.reflow(run, loss, replace(loss.flow, scaled=True))
    return loss


def tool_method(run: Run, of: Tool, name: str, call: Call) -> Value:
    """A method of an object of a library class."""
    optimizer = next((v for v in call.args if isinstance(v, Optimizer)), None)
    if of.name in training.SCALERS:
        if name == "scale":
            return _scaled(run, call.args[0]) if call.args else Unknown()
        if name == "step" and optimizer is not None:
            gradients.stepped(run, optimizer, call.node, run.text_of_argument(call.node, 0), scaled=True, scaler=of.id)
            return NOTHING
        if name == "unscale_" and optimizer is not None:
            gradients.fill(run, call.node)
            run.emit(Unscaled, call.node, scaler=of.id, optimizer=optimizer.id)
            return NOTHING
        if name == "state_dict":
            return checkpoints.state_dict(run, call.node, checkpoints.SCALER_STATE)
        if name == "update":
            run.emit(ScalerUpdated, call.node, scaler=of.id)
            return NOTHING
        if name == "is_enabled":
            return of.keywords.get("enabled") or Plain((".", ("object", of.id), "enabled"))
        if name in ("step", "unscale_"):
            result = opaque_calls.opaque(run, Method(of, name), call)
            if name == "unscale_":
                run.emit(Unscaled, call.node, scaler=of.id, optimizer=0)
            elif call.args:
                modules, _ = parameters.parameters_in(run, call.args[:1])
                text = run.text_of_argument(call.node, 0)
                given = {"scaled": True, "scaler": of.id, "whole": False}
                run.emit(Stepped, call.node, optimizer=0, name=text, modules=modules, **given)
            return result
        return Plain()
    if training.scheduler_of(of.name) or "scheduler" in of.name:
        if name in ("step", "step_update"):
            owner = construction.optimizer_in(run, of.holds)
            explicit = bool(call.args or call.keywords)
            sums.steered(run, call.values, call.node)
            told = {"scheduler": of.id, "optimizer": owner, "window": windows.batches_of(run, of)}
            run.emit(SchedulerStepped, call.node, name=call.receiver, explicit=explicit, **told)
            return NOTHING
        if name == "state_dict":
            return checkpoints.state_dict(run, call.node, checkpoints.SCHEDULER_STATE)
        return Plain()
    framed = framework_calls.framework_method(run, of, name, call)
    if framed is not None:
        return framed
    stacked = exit_stacks.method(run, of, name, call)
    if stacked is not None:
        return stacked
    library = canonical(of.name)
    if libraries.harmless(library) or libraries.harmless(f"{library}.{name}"):
        values = call.values
        flow = blend(value.flow for value in values).cut()
        return Unknown(flow, of.holds) if flow.forwards else Plain()
    return opaque_calls.opaque(run, Method(of, name), call)
