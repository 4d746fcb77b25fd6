"""Where gradients come from: backward, `torch.autograd`, and what is done to them on the way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.tables import training
from torch_doctor.static.training import autocasting, broadcasts, keeping, parameters
from torch_doctor.static.values import (
    NOTHING,
    Args,
    Const,
    Fact,
    Keywords,
    Lib,
    Module,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    Value,
)
from torch_doctor.trace import (
    Backward,
    Clipped,
    Kind,
)

if TYPE_CHECKING:
    from torch_doctor.static.executor import Executor
    from torch_doctor.trace import Site, Tri


def backward(
    run: Executor,
    value: Value,
    node: p.Node,
    name: str,
    *,
    through: str,
    keywords: Keywords,
    args: Args = (),
    context: bool = False,
) -> None:
    """Write that gradients were computed; `args` are what `backward` got beside the loss."""
    flow = value.flow
    retain = keywords.get("retain_graph", keywords.get("create_graph"))
    inputs = keywords.get("inputs")
    if flow.graph is not True:
        # That it works shows that autograd records, and that what went forward can be trained.
        if run.grad is None:
            run.heap.set(run.state.fields, "grad", True)
        for number in flow.modules:
            thing = run.objects.get(number)
            if isinstance(thing, Module) and thing.cls is None and not thing.layer:
                run.heap.set(thing.facts, Fact.TRAINED, value=True)
    run.went_backward |= flow.forwards
    run.parts_gone_backward |= flow.parts
    keeping.had_a_graph(run)
    broadcasts.tell(run, value)
    opaque = isinstance(value, Unknown) or flow.graph is not True or not flow.forwards
    run.emit(
        Backward,
        node,
        name=name,
        through=through,
        loss=run.fact(value, name),
        modules=flow.modules,
        whole=not opaque,
        forwards=flow.forwards,
        retained=flow.retained,
        retain_graph=bool(retain.value) if isinstance(retain, Const) else None if retain is not None else False,
        inputs_only=inputs is not None,
        context=context,
        weighted=_weighted(args, keywords),
        scaled=flow.scaled,
        divided=flow.divided,
        retained_at=_retained_at(run, keywords, node),
        autocast=autocasting.current(run),
    )


def _retained_at(run: Executor, keywords: Keywords, node: p.Node) -> Site | None:
    """Where the graph is kept for another pass."""
    retain = keywords.get("retain_graph")
    if (
        not (isinstance(retain, Const) and retain.value is True and isinstance(node, p.Call))
        or "create_graph" in keywords
    ):
        return None
    return next((run.site(value) for name, value in node.keywords if name == "retain_graph"), None)


def _weighted(args: Args, keywords: Keywords) -> Tri:
    """Whether the gradient of each number of the loss is given."""
    given = [
        *args[:1],
        *(keywords[name] for name in ("gradient", "grad_tensors", "grad_outputs", "**") if name in keywords),
    ]
    if not given:
        return False
    return None if all(isinstance(value, (Const, Unknown)) for value in given) else True


def autograd_grad(run: Executor, args: Args, keywords: Keywords, node: p.Node) -> Value:
    """Compute gradients with `torch.autograd.grad`, which fills no `.grad`."""
    value = args[0] if args else keywords.get("outputs", Unknown())
    backward(run, value, node, run.text_of_argument(node, 0), through="autograd.grad", args=args[2:], keywords=keywords)
    create = keywords.get("create_graph")
    flow = value.flow if create is not None else value.flow.cut()
    return Stream(Tensor(flow, made_by="gradient"))


def backward_function(run: Executor, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
    """Compute gradients with `torch.autograd.backward`, or its distributed form."""
    context = name in training.DISTRIBUTED_BACKWARD
    position = 1 if context else 0
    value: Value = args[position] if position < len(args) else Unknown()
    if isinstance(value, Sequence):
        value = Tensor(value.flow, Kind.LOSS)
    backward(
        run,
        value,
        node,
        run.text_of_argument(node, position),
        through=name,
        args=args[position + 1 :],
        keywords=keywords,
        context=context,
    )
    return NOTHING


def clipped(
    run: Executor, function: str, args: Args, keywords: Keywords, node: p.Node, *, managed: bool = False
) -> None:
    """Write that gradients were clipped, unless only their norm was asked for."""
    limit = args[1] if len(args) > 1 else keywords.get("max_norm")
    if (isinstance(limit, Const) and limit.value == math.inf) or (
        isinstance(limit, Lib) and limit.name.endswith(".inf")
    ):
        return
    given = args[:1] or tuple(value for key, value in keywords.items() if key == "parameters")
    modules, whole = parameters.parameters_in(run, given)
    fields = {"modules": modules, "whole": whole and bool(given), "managed": managed}
    run.emit(Clipped, node, function=function, name=run.text(node), **fields)
