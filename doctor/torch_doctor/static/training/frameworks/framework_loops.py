"""Loops that frameworks run by themselves, executed as if the script had written them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import batches, trainers
from torch_doctor.static.training.module import forwards, module_parts
from torch_doctor.static.training.unresolved import roles
from torch_doctor.static.training.update import gradients
from torch_doctor.static.values import (
    Bound,
    Call,
    Fact,
    FunctionValue,
    Instance,
    Module,
    Optimizer,
    Unknown,
    Value,
)
from torch_doctor.trace import Owned, ZeroGrad

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def supervised(run: Run, call: Call, *, trains: bool) -> None:
    """What ignite's ready-made engines do for a batch."""
    names = ("model", "optimizer", "loss_fn") if trains else ("model",)
    given = dict(zip(names, call.args, strict=False)) | call.keywords
    model, optimizer, criterion = (given.get(name, Unknown()) for name in ("model", "optimizer", "loss_fn"))
    if not isinstance(model, Module):
        return

    def step(batch: Value) -> Value:
        modes.set_mode(run, model, trains, call.node, "model")
        if isinstance(optimizer, Optimizer):
            run.emit(ZeroGrad, call.node, target=optimizer.id, name="optimizer", modules=optimizer.modules, whole=True)
        before = run.grad
        run.heap.set(run.state.fields, "grad", trains)
        output = forwards.call_module(run, model, Call((batch,), {}, call.node, "model"))
        if trains:
            loss = run.call(criterion, Call((output, batch), {}, call.node, "loss_fn"))
            gradients.backward(run, loss, Call((), {}, call.node, "loss"), through="ignite")
            if isinstance(optimizer, Optimizer):
                gradients.stepped(run, optimizer, call.node, "optimizer")
        run.heap.set(run.state.fields, "grad", before)
        return output

    batches.every(run, call.node, step)


def train(run: Run, thing: Instance, node: p.Node) -> None:
    """What a trainer does that derives from one of transformers, and computes its loss itself; once for each."""
    known = trainers.given(thing)
    if known is not None and trainers.loss_of(thing) is not None and thing.id not in run.state.fact(Fact.DRIVEN):
        run.heap.set(run.state.facts, Fact.DRIVEN, run.state.fact(Fact.DRIVEN) | {thing.id})
        drive_trainer(run, thing, node, known)


def drive_trainer(run: Run, thing: Instance, node: p.Node, known: dict[str, Value] | None = None) -> None:
    """What transformers' Trainer does with an overridden `compute_loss`; `known` is what it was given."""
    found = thing.cls.find("compute_loss")
    if found is None or not isinstance(found[0], FunctionValue):
        return
    function, given = found[0], known or {}
    run.emit(Owned, node, framework="transformers")
    model = run.resolve(given.get("model", Unknown()))
    if not isinstance(model, Module):
        model = roles.module_by_role(run, "model")
    optimizer: Optimizer = run.own(Optimizer(None, "", module_parts.parts_of(run, model).owners, whole=True))

    def step(batch: Value) -> Value:
        modes.set_mode(run, model, training_=True, node=node, name="model")
        run.emit(ZeroGrad, node, target=optimizer.id, name="optimizer", modules=optimizer.modules, whole=True)
        inputs = trainers.batch_of(run, given, batch.flow)
        loss = run.call(Bound(function, thing), Call((model, inputs), {}, node))
        gradients.backward(run, loss, Call((), {}, node, "loss"), through="transformers")
        gradients.stepped(run, optimizer, node, "optimizer")
        return loss

    batches.every(run, node, step)
