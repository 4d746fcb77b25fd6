"""What Lightning's trainer does with a module and its data, executed as if the script had written the loops."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.iteration import PASSES, Course
from torch_doctor.static.language import loops
from torch_doctor.static.libraries import lightning
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import batches, lightning_optimizers
from torch_doctor.static.training.module import forwards, module_parts
from torch_doctor.static.training.update import gradients
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
    ClassValue,
    Const,
    Fact,
    Instance,
    Loader,
    Mapping,
    Module,
    Plain,
    Sequence,
    Tool,
    Unknown,
    Value,
    leaves,
)
from torch_doctor.static.values.symbols import LENGTH
from torch_doctor.trace import LoopKind, Owned, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class Feeding(Struct, frozen=True):
    """Where the trainer gets the rows of a stage: an argument, a data module or the module, and what the user calls it."""

    loaders: tuple[Value, ...]
    over: str


class Fit(Struct, frozen=True):
    """One call of a trainer's method; without `trainer` nobody in sight calls one, and all that a module has is used."""

    run: Run
    module: Module
    node: p.Node
    method: str = ""
    call: Call | None = None
    trainer: Tool | None = None
    data: Instance | None = None

    def hook(self, name: str, *args: Value) -> Value | None:
        """Call a hook of the module with as many of the arguments as it takes; None where the module has none of its own."""
        return _hook(self.run, self.module, name, Call(args, {}, self.node))

    def has(self, name: str) -> bool:
        """Whether the module has a hook of its own."""
        return module_parts.method_of(self.module, name) is not None


def is_lightning(cls: ClassValue) -> bool:
    """Whether a class is a LightningModule."""
    return any(canonical(name) == "lightning.LightningModule" for name in cls.libraries())


def alone(run: Run, module: Module, node: p.Node) -> None:
    """What a trainer out of sight does with a module: it trains and evaluates it."""
    if _begins(run, module):
        fit = Fit(run, module, node)
        _train(fit)
        for stage in (lightning.TEST, lightning.PREDICT):
            _evaluate(fit, stage, _fed(fit, stage))
        _finish(fit)


def called(run: Run, trainer: Tool, name: str, call: Call) -> bool:
    """What a method of a trainer does with the module that it is given; False where that is not in sight."""
    values = [run.resolve(value) for value in call.values]
    module = next((value for value in values if isinstance(value, Module)), None)
    if module is None or module.cls is None or not is_lightning(module.cls):
        return False
    data = next((value for value in values if isinstance(value, Instance) and _is_data_module(value.cls)), None)
    fit = Fit(run, module, call.node, name, call, trainer, data)
    stage = lightning.STAGES.get(name)
    if stage is lightning.TRAIN:
        if not _begins(run, module):
            return False
        _train(fit)
        _evaluate(fit, lightning.PREDICT, Feeding((Unknown(),), lightning.PREDICT.over))  # whoever predicts reads it
        _finish(fit)
    elif stage is lightning.PREDICT and not fit.has("predict_step"):
        _hand_back(fit)
        return False
    elif stage is not None:
        run.emit(Owned, call.node, framework="lightning")
        _prepare(fit, stage.name)
        _evaluate(fit, stage, _fed(fit, stage))
    return stage is not None


def _hand_back(fit: Fit) -> None:
    """Return what `forward` makes of a batch, as the `predict_step` of the base does."""
    function = module_parts.method_of(fit.module, "forward")
    if function is not None:
        output = forwards.call_module(fit.run, fit.module, Call((Unknown(),), {}, fit.node, fit.module.class_name))
        for observe in fit.run.observers.handed_back:
            observe(fit.run, output, function.node)


def _begins(run: Run, module: Module) -> bool:
    """Whether a module is trained for the first time."""
    driven: frozenset[int] = run.state.fact(Fact.DRIVEN)
    run.heap.set(run.state.facts, Fact.DRIVEN, driven | {module.id})
    return module.id not in driven


def _is_data_module(cls: ClassValue) -> bool:
    return any(canonical(name) in lightning.LIGHTNING.data_modules for name in cls.libraries())


# --- what comes before the batches ---


def _prepare(fit: Fit, stage: str) -> None:
    """Call what makes the data and the module ready for a stage."""
    told = Const(stage) if fit.trainer is not None else Plain()
    for name, args in (("prepare_data", ()), ("setup", (told,))):
        if fit.data is not None:
            _hook(fit.run, fit.data, name, Call(args, {}, fit.node))
        fit.hook(name, *args)


def _configure(fit: Fit, rows: Feeding) -> lightning_optimizers.Driven:
    """Call what makes the optimizers and schedulers, for the rows that they are trained on."""
    run, module = fit.run, fit.module
    if fit.trainer is not None:
        run.heap.set(module.fields, "trainer", fit.trainer)
        first = next((each for each in rows.loaders if isinstance(each, Loader)), None)
        if first is not None:
            updates = Plain(("*", (LENGTH, first.id), (".", ("object", fit.trainer.id), "max_epochs")))
            run.heap.set(fit.trainer.fields, "estimated_stepping_batches", updates)
    configured = fit.hook("configure_optimizers")
    return lightning_optimizers.driven(run, module, NOTHING if configured is None else configured)


def _fed(fit: Fit, stage: lightning.TrainerStage) -> Feeding:
    """The loaders of a stage: those of the call come first, then those of the data module, then those of the module."""
    run = fit.run
    position = 1 if fit.method == stage.name else 2
    given = fit.call.argument(position, *stage.arguments) if fit.call is not None else None
    if given is not None and given is not fit.data and not (isinstance(given, Const) and given.value is None):
        texts = (run.text_of_argument(fit.node, position, name) for name in stage.arguments)
        return Feeding(_several(run, given), next(filter(None, texts), stage.over))
    for owner in (fit.data, fit.module):
        function = module_parts.method_of(owner, stage.dataloader) if owner is not None else None
        if owner is not None and function is not None:
            made = run.call(Bound(function, owner), Call((), {}, fit.node))
            return Feeding(_several(run, made), f"{owner.cls.name if owner.cls else ''}.{stage.dataloader}()")
    return Feeding((Unknown(),), stage.over)


def _several(run: Run, given: Value) -> tuple[Value, ...]:
    """The loaders that a stage goes through one after the other."""
    given = run.resolve(given)
    if isinstance(given, Sequence) and given.content.rest is None:
        return tuple(run.resolve(each) for each in given.content.items)
    return (given,)


# --- the loops ---


def _train(fit: Fit) -> None:
    """Train: the epochs, in each the batches, and behind them the validation."""
    run = fit.run
    run.emit(Owned, fit.node, framework="lightning")
    _prepare(fit, "fit")
    rows = _fed(fit, lightning.TRAIN)
    driven = _configure(fit, rows)
    for name in lightning.BEFORE_TRAINING:
        fit.hook(name)
    held_out = _fed(fit, lightning.VALIDATE) if any(map(fit.has, lightning.VALIDATE.hooks)) else None
    if not fit.has("training_step"):
        return

    def epoch() -> bool:
        fit.hook("on_train_epoch_start")
        _batches(fit, "training_step", rows, partial(_step, fit, driven))
        if held_out is not None:
            _evaluate(fit, lightning.VALIDATE, held_out, validates=_validates(fit))
        for name in lightning.AFTER_EPOCH:
            fit.hook(name)
        lightning_optimizers.schedule(run, fit.module, driven.each_epoch, fit.node)
        return True

    most = fit.trainer.keywords.get("max_epochs") if fit.trainer is not None else None
    passes = 1 if isinstance(most, Const) and most.value == 1 else PASSES
    course = Course(passes, lambda _: Plain(), "the epochs", LoopKind.PLAIN)
    loops.iterate(run, fit.node, fit.node.at, course, lambda _: True, epoch)
    for name in lightning.AFTER_TRAINING:
        fit.hook(name)


def _validates(fit: Fit) -> bool:
    """Whether the trainer surely has its loaders validated, and not the batches that it overfits to try whether it can."""
    given = set() if fit.trainer is None else fit.trainer.keywords.keys()
    return fit.trainer is not None and given.isdisjoint(lightning.TRIALS)


def _step(fit: Fit, driven: lightning_optimizers.Driven, batch: Value, number: Value) -> Value:
    """What the trainer does with a batch of the training."""
    run, optimizers = fit.run, driven.optimizers
    fit.hook("on_train_batch_start", batch, number)
    loss = fit.hook("training_step", batch, number) or NOTHING
    if isinstance(loss, Mapping):
        found = loss.fields.get(("key", "loss"))
        loss = found if isinstance(found, Value) else loss
    if lightning_optimizers.is_automatic(fit.module):
        for each in optimizers:
            run.emit(ZeroGrad, fit.node, target=each.id, name="optimizer", modules=each.modules, whole=each.whole)
        if loss.flow.forwards or loss.flow.graph is True or any(isinstance(leaf, Unknown) for leaf in leaves(loss)):
            gradients.backward(run, loss, Call((), {}, fit.node, "loss"), through="lightning")
        for each in optimizers:
            gradients.stepped(run, each, fit.node, "optimizer")
    lightning_optimizers.schedule(run, fit.module, driven.each_batch, fit.node)
    fit.hook("on_train_batch_end", loss, batch, number)
    return loss


def _evaluate(fit: Fit, stage: lightning.TrainerStage, rows: Feeding, *, validates: bool = False) -> None:
    """What the trainer does where it evaluates; behind it, each part has the mode that it had."""
    run, module, node = fit.run, fit.module, fit.node
    if not any(fit.has(name) for name in stage.hooks):
        return
    grad, mode, own = run.grad, module.fact(Fact.MODE), modes.own_mode(run, module).training
    run.heap.set(run.state.fields, "grad", value=False)
    modes.set_mode(run, module, training_=False, node=node, name=module.class_name)
    for name in stage.hooks:
        if not name.endswith("_step"):
            fit.hook(name)
        elif fit.has(name):
            _batches(fit, name, rows, partial(_scored, fit, name), validates=validates)
    run.heap.set(run.state.fields, "grad", grad)
    modes.set_mode(run, module, training_=own, node=node, name=module.class_name)
    run.heap.set(module.facts, Fact.MODE, mode)


def _scored(fit: Fit, name: str, batch: Value, number: Value) -> Value:
    """What a hook makes of a batch that is evaluated."""
    return fit.hook(name, batch, number) or NOTHING


def _batches(
    fit: Fit, name: str, rows: Feeding, step: Callable[[Value, Value], Value], *, validates: bool = False
) -> None:
    """Go through the batches that a step gets; what several loaders of a training are made into is not followed."""
    function = module_parts.method_of(fit.module, name)
    assert function is not None
    several = name == "training_step" and len(rows.loaders) != 1
    for loader in (Unknown(),) if several else rows.loaders:
        batches.through(fit.run, function.node, fit.node, loader, rows.over, step, validates=validates)


def _finish(fit: Fit) -> None:
    """Call whatever else a module has for a trainer, in no order."""
    for name in sorted(lightning.LIGHTNING.hooks - lightning.IN_ORDER):
        fit.hook(name)


def _hook(run: Run, thing: Module | Instance, name: str, call: Call) -> Value | None:
    function = module_parts.method_of(thing, name)
    if function is None:
        return None
    wanted = sum(parameter.kind == "plain" for parameter in function.node.parameters) - 1
    result = run.call(Bound(function, thing), Call(call.args[: max(wanted, 0)], {}, call.node))
    for observe in run.observers.handed_back:
        observe(run, result, function.node)
    return result
