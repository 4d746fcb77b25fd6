"""Loops that frameworks run by themselves, executed as if the script had written them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.iteration import PASSES, Course
from torch_doctor.static.language import loops
from torch_doctor.static.libraries import lightning
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import trainers
from torch_doctor.static.training.module import forwards, module_parts
from torch_doctor.static.training.unresolved import roles
from torch_doctor.static.training.update import gradients
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
    ClassValue,
    Const,
    Content,
    Fact,
    FunctionValue,
    Instance,
    Loader,
    Mapping,
    Module,
    Optimizer,
    Plain,
    Sequence,
    Unknown,
    Value,
    leaves,
)
from torch_doctor.trace import BatchTaken, LoopKind, Owned, Source, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def every_batch(run: Run, node: p.Node, step: Callable[[Value], Value], over: str = "the batches") -> None:
    """Run something for every batch, as an owner of the loop does."""
    loader: Loader = run.own(Loader(None, over))
    batch = Unknown(Flow(source=Source.LOADER, loader=loader.id))
    course = Course(PASSES, lambda _: batch, over, LoopKind.BATCHES)

    def body() -> bool:
        run.emit(BatchTaken, node, loader=loader.id, name=over)
        step(batch)
        return True

    loops.iterate(run, node, node.at, course, lambda _: True, body)


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

    every_batch(run, call.node, step)


def is_lightning(run: Run, cls: ClassValue) -> bool:
    """Whether a class is a LightningModule."""
    return any(canonical(name) == "lightning.LightningModule" for name in cls.libraries())


def drive_lightning(run: Run, module: Module, node: p.Node) -> None:
    """What Lightning's trainer does with a module: its hooks, in order, with what it does between them."""
    if module.cls is None or not is_lightning(run, module.cls) or module.id in run.state.fact(Fact.DRIVEN):
        return
    run.heap.set(run.state.facts, Fact.DRIVEN, run.state.fact(Fact.DRIVEN) | {module.id})
    run.emit(Owned, node, framework="lightning")
    configured = _hook(run, module, "configure_optimizers", Call((), {}, node))
    returned = _optimizers_in(configured) if configured is not None else []
    optimizers = [each for each in leaves(*returned) if isinstance(each, Optimizer)]
    if returned:
        only = returned[0] if len(returned) == 1 else Sequence("list", Content(tuple(returned)))
        run.heap.set(module.facts, Fact.OPTIMIZERS, only)
    automatic = module.fields.get("automatic_optimization")
    manual = automatic is not None and not (isinstance(automatic, Const) and automatic.value)
    for name in lightning.BEFORE_TRAINING:
        _hook(run, module, name, Call((), {}, node))

    def train(batch: Value) -> Value:
        loss = _hook(run, module, "training_step", Call((batch, Plain(("turn", "batch_idx"))), {}, node)) or NOTHING
        if isinstance(loss, Mapping):
            found = loss.fields.get(("key", "loss"))
            loss = found if isinstance(found, Value) else loss
        if manual:
            return loss
        for optimizer in optimizers:
            run.emit(
                ZeroGrad,
                node,
                target=optimizer.id,
                name="optimizer",
                modules=optimizer.modules,
                whole=optimizer.whole,
            )
        if loss.flow.forwards or loss.flow.graph is True or any(isinstance(leaf, Unknown) for leaf in leaves(loss)):
            gradients.backward(run, loss, Call((), {}, node, "loss"), through="lightning")
        for optimizer in optimizers:
            gradients.stepped(run, optimizer, node, "optimizer")
        return loss

    if _has_hook(run, module, "training_step"):
        every_batch(run, node, train)
    for hooks in lightning.EVALUATION:
        if any(_has_hook(run, module, name) for name in hooks):
            _evaluate(run, module, node, hooks)
    done = {*lightning.BEFORE_TRAINING, "configure_optimizers"}.union(*lightning.EVALUATION)
    for name in sorted(lightning.LIGHTNING.hooks - done):
        _hook(run, module, name, Call((), {}, node))


def _evaluate(run: Run, module: Module, node: p.Node, hooks: Iterable[str]) -> None:
    """What Lightning's trainer does where it evaluates; behind it, each part has the mode that it had."""
    grad, mode, own = run.grad, module.fact(Fact.MODE), modes.own_mode(run, module).training
    run.heap.set(run.state.fields, "grad", value=False)
    modes.set_mode(run, module, training_=False, node=node, name=module.class_name)
    for name in hooks:
        if not name.endswith("_step"):
            _hook(run, module, name, Call((), {}, node))
        elif _has_hook(run, module, name):
            every_batch(run, node, partial(_step, run, module, name, node))
    run.heap.set(run.state.fields, "grad", grad)
    modes.set_mode(run, module, training_=own, node=node, name=module.class_name)
    run.heap.set(module.facts, Fact.MODE, mode)


def _step(run: Run, module: Module, name: str, node: p.Node, batch: Value) -> Value:
    """What a hook makes of a batch that is evaluated."""
    return _hook(run, module, name, Call((batch, Plain()), {}, node)) or NOTHING


def _has_hook(run: Run, module: Module, name: str) -> bool:
    found = module.cls.find(name) if module.cls is not None else None
    return found is not None and isinstance(found[0], FunctionValue)


def _hook(run: Run, module: Module, name: str, call: Call) -> Value | None:
    found = module.cls.find(name) if module.cls is not None else None
    if found is None or not isinstance(found[0], FunctionValue):
        return None
    wanted = sum(parameter.kind == "plain" for parameter in found[0].node.parameters) - 1
    result = run.call(Bound(found[0], module), Call(call.args[: max(wanted, 0)], {}, call.node))
    for observe in run.observers.handed_back:
        observe(run, result, found[0].node)
    return result


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

    every_batch(run, node, step)


def _optimizers_in(value: Value) -> list[Value]:
    """The optimizers that a hook returns, in containers or not; each may be one of a few."""
    if isinstance(value, (Sequence, Mapping)):
        inside = value.content.all() if isinstance(value, Sequence) else value.values()
        return [found for item in inside for found in _optimizers_in(item)]
    return [value] if any(isinstance(each, Optimizer) for each in leaves(value)) else []
