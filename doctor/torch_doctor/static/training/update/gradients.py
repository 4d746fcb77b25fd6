"""Where gradients come from, what is done to them on the way, and the steps that use them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import training
from torch_doctor.static.training import mending
from torch_doctor.static.training.device import autocasting
from torch_doctor.static.training.graph import keeping
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.training.module import forward_cache, forwards, written_forwards
from torch_doctor.static.training.update import gradient_hooks, parameters, step_hooks
from torch_doctor.static.values import (
    MADE_OF_GRADIENTS,
    NOTHING,
    Call,
    Const,
    Fact,
    Lib,
    Module,
    Optimizer,
    Origin,
    ParameterValue,
    Params,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    Value,
)
from torch_doctor.trace import (
    Backward,
    Clipped,
    FiniteChecked,
    GraphCut,
    Kind,
    Meant,
    Stepped,
)

if TYPE_CHECKING:
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site, Trace, Tri


def backward(
    run: Run,
    value: Value,
    call: Call,
    *,
    through: str,
    context: bool = False,
    as_is: bool = False,
    frozen: frozenset[int] = frozenset(),
) -> None:
    """Write that gradients were computed; `call` holds what `backward` got beside the loss, and the words for it.

    `as_is`: the framework that it goes `through` does not divide the loss. `frozen` are modules whose parameters it had frozen for
    the time being.
    """
    value = _reaching(run, value, call.node)
    flow = value.flow
    mending.taken(run, flow)
    language_models.gone_backward(run, flow)
    inputs = call.keywords.get("inputs")
    if flow.graph is not True:
        # That it works shows that autograd records, and that what went forward can be trained.
        if run.grad is None:
            run.heap.set(run.state.fields, "grad", True)
        for number in flow.modules:
            thing = run.objects.get(number)
            if isinstance(thing, Module) and thing.cls is None and not thing.layer:
                run.heap.set(thing.facts, Fact.TRAINED, value=True)
        run.of(keeping.Undecided).parts_gone_backward |= flow.parts
    run.of(keeping.Undecided).went_backward |= flow.forwards
    keeping.had_a_graph(run)
    for observe in run.observers.backward:
        observe(run, value, call)
    surely = (flow.surely or flow.modules) - frozen  # some have gradients; where none is certain, all that may be
    opaque = (
        isinstance(value, Unknown) or flow.graph is not True or not flow.forwards or surely != flow.modules - frozen
    )
    run.of(forward_cache.ForwardCache).count()
    run.emit(
        Backward,
        call.node,
        name=call.name,
        through=through,
        loss=run.fact(value, call.name),
        modules=frozenset(number for number in surely if _may_have_gradients(run, number)) or surely,
        whole=not opaque,
        forwards=flow.forwards | written_forwards.under_way(run),  # what goes backward in a forward trains its module
        retained=flow.retained,
        retain_graph=call.flag("retain_graph", "create_graph", default=False),
        inputs_only=inputs is not None,
        context=context,
        as_is=as_is,
        weighted=_weighted(call),
        scaled=flow.scaled,
        divided=gradient_hooks.divided(run, flow),
        retained_at=_retained_at(run, call),
        autocast=autocasting.current(run),
        direct=surely - forwards.reached(run, flow.graph_forwards),
        perhaps=frozenset(number for number in surely if number in flow.doubtful or _may_be_frozen(run, number)),
    )


def _may_have_gradients(run: Run, number: int) -> bool:
    """Whether a module may own parameters, or hold what does: an activation or a dropout has no gradients."""
    thing = run.objects.get(number)
    return not isinstance(thing, Module) or thing.table is None or thing.table.parameters


def _may_be_frozen(run: Run, number: int) -> bool:
    thing = run.objects.get(number)
    return thing is not None and thing.fact(Fact.FROZEN) is None


def _reaching(run: Run, loss: Value, node: p.Node) -> Value:
    """A loss that goes backward, with the graph that it had before it was cut, where that was meant."""
    if not mending.is_meant(run, node, Meant.REACHED):
        return loss
    behind = [event for event in run.trace.at(*loss.flow.cuts) if isinstance(event, GraphCut)]
    graph = loss.flow.graph_forwards.union(*(event.value.graph_forwards for event in behind))
    flow: Flow = replace(
        loss.flow,
        graph=True,
        forwards=loss.flow.forwards | graph,
        graph_forwards=graph,
        modules=forwards.reached(run, graph),
    )
    meant = Tensor(flow, Kind.LOSS, scalar=True)
    run.heap.change(loss, meant)
    return meant


def _retained_at(run: Run, call: Call) -> Site | None:
    """Where the graph is kept for another pass."""
    retain = call.keywords.get("retain_graph")
    if (
        not (isinstance(retain, Const) and retain.value is True and isinstance(call.node, p.Call))
        or "create_graph" in call.keywords
    ):
        return None
    return next((run.site(value) for name, value in call.node.keywords if name == "retain_graph"), None)


def _weighted(call: Call) -> Tri:
    """Whether the gradient of each number of the loss is given."""
    given = [
        *call.args[:1],
        *(call.keywords[name] for name in ("gradient", "grad_tensors", "grad_outputs", "**") if name in call.keywords),
    ]
    if not given:
        return False
    return None if all(isinstance(value, (Const, Unknown)) for value in given) else True


@library_family(training.AUTOGRAD_GRAD)
def autograd_grad(run: Run, _: str, call: Call) -> Value:
    """Compute gradients with `torch.autograd.grad`, which fills no `.grad`."""
    value = call.argument(0, "outputs") or Unknown()
    backward(
        run, value, call.with_args(call.args[2:]).renamed(run.text_of_argument(call.node, 0)), through="autograd.grad"
    )
    create = call.keywords.get("create_graph")
    flow = value.flow if create is not None else value.flow.cut()
    return Stream(Tensor(flow, origin=Origin(operation=MADE_OF_GRADIENTS)))


def of_method(run: Run, value: Value, _: str, call: Call) -> Value:
    """`loss.backward()`."""
    backward(run, value, call.renamed(call.receiver), through="backward")
    return NOTHING


@library_family({*training.BACKWARDS, *training.DISTRIBUTED_BACKWARD})
def backward_function(run: Run, name: str, call: Call) -> Value:
    """Compute gradients with `torch.autograd.backward`, or its distributed form."""
    context = name in training.DISTRIBUTED_BACKWARD
    position = 1 if context else 0
    value: Value = call.argument(position) or Unknown()
    if isinstance(value, Sequence):
        value = Tensor(value.flow, Kind.LOSS)
    backward(
        run,
        value,
        call.with_args(call.args[position + 1 :]).renamed(run.text_of_argument(call.node, position)),
        through=name,
        context=context,
    )
    return NOTHING


@library_family(training.SCALED_LOSSES)
def scaled_loss(run: Run, _: str, call: Call) -> Value | None:
    """`amp.scale_loss(loss, optimizer)`: it skips the steps whose gradients overflow."""
    if not call.args:
        return None
    run.emit(FiniteChecked, call.node, function=call.name)
    return call.args[0]


@library_family(training.CLIPS)
def clip(run: Run, name: str, call: Call) -> Tensor:
    """A function that clips gradients, and returns their norm."""
    clipped(run, name, call)
    return Tensor()


def clipped(run: Run, function: str, call: Call, *, managed: bool = False) -> None:
    """Write that gradients were clipped, unless only their norm was asked for."""
    limit = call.argument(1, "max_norm")
    if (isinstance(limit, Const) and limit.value == math.inf) or (
        isinstance(limit, Lib) and limit.name.endswith(".inf")
    ):
        return
    fill(run, call.node)
    given = call.args[:1] or tuple(value for key, value in call.keywords.items() if key == "parameters")
    of = run.resolve(given[0]) if given else None
    modules, whole = (of.modules, of.whole) if isinstance(of, Optimizer) else parameters.parameters_in(run, given)
    alone = bool(given) and function.endswith("clip_grad_norm_") and _is_one_of_several(given[0])
    fields = {"modules": modules, "whole": whole and bool(given), "managed": managed, "alone": alone}
    run.emit(Clipped, call.node, function=function, name=run.text(call.node), **fields)


def _is_one_of_several(given: Value) -> bool:
    """Whether this is one parameter that a loop over those of a module takes, or a list of it."""
    items = given.content.items if isinstance(given, Sequence) and given.content.rest is None else (given,)
    return len(items) == 1 and isinstance(items[0], Params) and items[0].single and not items[0].among


def fill(run: Run, node: p.Node) -> None:
    """Let a loss go backward that nobody lets, before its gradients are used: where that was meant."""
    loss = mending.waiting(run, node)
    if loss is not None:
        backward(run, loss, Call((), {}, node), through="backward")


def stepped(run: Run, of: Optimizer, node: p.Node, name: str, **more: int) -> None:
    """Write that an optimizer stepped; its hooks run before and after that."""
    step_hooks.run_those(run, of, node, before=True)
    fill(run, node)
    leaves = frozenset(number for number in of.modules if _is_alone(run, number))
    more["several"] = of.fact(Fact.SEVERAL)
    run.of(forward_cache.ForwardCache).count()
    run.emit(Stepped, node, optimizer=of.id, name=name, modules=of.modules, whole=of.whole, leaves=leaves, **more)
    step_hooks.run_those(run, of, node, before=False)


def _is_alone(run: Run, number: int) -> bool:
    """Whether it is a tensor that is trained beside the modules, and surely part of none."""
    thing = run.objects.get(number)
    return isinstance(thing, ParameterValue) and not thing.fact(Fact.REGISTERED)


def trains(trace: Trace) -> bool:
    """Whether a script computes gradients or steps an optimizer."""
    return bool(trace.of(Backward) or trace.of(Stepped))
