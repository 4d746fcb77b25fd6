"""What Lightning's trainer does with a module and its data, executed as if the script had written the loops."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from torch_doctor.static.iteration import PASSES, Course
from torch_doctor.static.language import courses, loops
from torch_doctor.static.libraries import lightning
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import batches, lightning_best, lightning_fit, lightning_optimizers
from torch_doctor.static.training.frameworks.lightning_fit import Feeding, Fit
from torch_doctor.static.training.module import forwards, module_parts
from torch_doctor.static.training.update import construction, gradients
from torch_doctor.static.values import (
    COUNTER,
    NOTHING,
    WHOLE,
    Call,
    Const,
    Content,
    Default,
    Fact,
    Instance,
    Mapping,
    Module,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    fresh_symbol,
    leaves,
)
from torch_doctor.trace import Count, LoopCounted, Owned, SchedulerStepped, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def alone(run: Run, module: Module, node: p.Node) -> None:
    """What a trainer out of sight does with a module: it trains and evaluates it."""
    if _begins(run, module):
        fit = Fit(run, module, node)
        driven = _train(fit)
        for stage in (lightning.TEST, lightning.PREDICT):
            _evaluate(fit, stage, lightning_fit.fed(fit, stage))
        _finish(fit, driven)


def called(run: Run, trainer: Tool, name: str, call: Call) -> bool:
    """What a method of a trainer does with the module that it is given; False where that is not in sight."""
    values = [run.resolve(value) for value in call.values]
    module = next((value for value in values if isinstance(value, Module)), None)
    if module is None or module.cls is None or not lightning_fit.is_lightning(module.cls):
        return False
    data = next(
        (value for value in values if isinstance(value, Instance) and lightning_fit.is_data_module(value.cls)), None
    )
    fit = Fit(run, module, call.node, name, call, trainer, data, lightning_fit.callbacks_of(run, trainer))
    stage = lightning.STAGES.get(name)
    if stage is lightning.TRAIN:
        if not _begins(run, module):
            return False
        driven = _train(fit)
        _evaluate(fit, lightning.PREDICT, Feeding((Unknown(),), lightning.PREDICT.over))  # whoever predicts reads it
        _finish(fit, driven)
    elif stage is lightning.PREDICT and not fit.has("predict_step"):
        _hand_back(fit)
        return False
    elif stage is not None:
        run.emit(Owned, call.node, framework="lightning", followed=fit.followed)
        lightning_fit.prepare(fit, stage.name)
        _evaluate(fit, stage, lightning_fit.fed(fit, stage))
    return stage is not None


def followed(run: Run, trainer: Tool) -> bool:
    """Whether all callbacks of a trainer are in sight, or leave the module as it is."""
    return all(map(lightning_fit.is_followed, lightning_fit.callbacks_of(run, trainer)))


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


def _train(fit: Fit) -> lightning_optimizers.Driven:
    """Train: the epochs, in each the batches, and behind them the validation; return what is stepped."""
    run = fit.run
    run.emit(Owned, fit.node, framework="lightning", followed=fit.followed)
    lightning_fit.prepare(fit, "fit")
    rows = lightning_fit.fed(fit, lightning.TRAIN)
    driven, module = lightning_fit.configure(fit, rows), fit.module
    for name in lightning.BEFORE_TRAINING:
        fit.hook(name)
    held_out = lightning_fit.fed(fit, lightning.VALIDATE) if any(map(fit.has, lightning.VALIDATE.hooks)) else None
    if not fit.has("training_step"):
        return lightning_optimizers.Driven()

    def epoch() -> bool:
        fit.hook("on_train_epoch_start")
        kept: list[Value] = []
        _batches(fit, "training_step", rows, partial(_step, fit, driven), kept=kept)
        if held_out is not None:
            _evaluate(fit, lightning.VALIDATE, held_out, validates=_validates(fit))
        for name in lightning.AFTER_EPOCH:
            fit.hook(name, *_outputs(fit, name, rows, kept))
        _schedule(fit, driven, "epoch")
        return True

    course = _epochs(fit)

    def begin(number: int) -> bool:
        for thing in (module, fit.trainer):
            if thing is not None:
                run.heap.set(thing.fields, "current_epoch", course.item(number))
        return True

    loops.iterate(run, fit.node, fit.node.at, course, begin, epoch)
    for name in lightning.AFTER_TRAINING:
        fit.hook(name)
    if len(driven.optimizers(run)) == 1:  # what is worse for one of two models may be better for the other
        lightning_best.chosen(run, module, fit.callbacks)
    return driven


def _epochs(fit: Fit) -> Course:
    """How the trainer goes through the epochs."""
    most = fit.trainer.keywords.get(lightning.MOST) if fit.trainer is not None else None
    passes, number = PASSES, most.value if isinstance(most, Const) and type(most.value) is int else None
    if number is not None and number > 0:
        passes = min(PASSES, number)
        told = repr(most.symbol) if isinstance(most, Default) else ""
        fit.run.emit(LoopCounted, fit.node, passes=Count(number=number, text=lightning.MOST, quantity=told))
    elif isinstance(most, (Plain, Unknown)):
        fit.run.emit(LoopCounted, fit.node, passes=Count(text=lightning.MOST, quantity=repr(most.symbol)))
    turn, counter = fresh_symbol("turn"), Plain((COUNTER, None), WHOLE)
    return Course(passes, lambda each: courses.renewed(counter, turn, each), "the epochs", turn=turn[1])


def _validates(fit: Fit) -> bool:
    """Whether the trainer surely has its loaders validated, and not the batches that it overfits to try whether it can."""
    given = set() if fit.trainer is None else fit.trainer.keywords.keys()
    return fit.trainer is not None and given.isdisjoint(lightning.TRIALS)


def _step(fit: Fit, driven: lightning_optimizers.Driven, batch: Value, number: Value) -> Value:
    """What the trainer does with a batch of the training."""
    run = fit.run
    fit.hook("on_train_batch_start", batch, number)
    returned = loss = fit.hook("training_step", batch, number) or NOTHING
    if isinstance(loss, Mapping):
        found = loss.fields.get(("key", "loss"))
        loss = found if isinstance(found, Value) else loss
    lightning_optimizers.unless_manual(run, fit.module, partial(_update, fit, driven, loss), fit.node)
    _schedule(fit, driven, "step", lightning_fit.window(fit))
    fit.hook("on_train_batch_end", loss, batch, number)
    return _without_graph(run, returned)


def _update(fit: Fit, driven: lightning_optimizers.Driven, loss: Value) -> None:
    """Clear, go backward and step."""
    run, loss = fit.run, fit.run.resolve(loss)
    optimizers = driven.optimizers(run)
    for each in optimizers:
        fit.hook("on_before_zero_grad", each)
        run.emit(ZeroGrad, fit.node, target=each.id, name="optimizer", modules=each.modules, whole=each.whole)
    if loss.flow.forwards or loss.flow.graph is True or any(isinstance(leaf, Unknown) for leaf in leaves(loss)):
        fit.hook("on_before_backward", loss)
        gradients.backward(run, loss, Call((), {}, fit.node, "loss"), through="lightning")
    if optimizers:
        fit.hook("on_after_backward")
    for each in optimizers:
        fit.hook("on_before_optimizer_step", each)
        fit.hook("configure_gradient_clipping", each, Plain(), Plain())
        gradients.stepped(run, each, fit.node, "optimizer")


def _schedule(fit: Fit, driven: lightning_optimizers.Driven, interval: str, window: int = 1) -> None:
    """Step schedulers, unless the module does all by hand; `window`: behind each update, which takes so many batches."""
    run = fit.run

    def step() -> None:
        for each in driven.schedulers(run, interval):
            if fit.has(lightning.STEPPING):
                fit.hook(lightning.STEPPING, each, Plain(), Plain())
                continue
            owner = construction.optimizer_in(run, each.holds)
            run.emit(SchedulerStepped, fit.node, scheduler=each.id, optimizer=owner, name="", window=window)

    lightning_optimizers.unless_manual(run, fit.module, step, fit.node)


def _evaluate(fit: Fit, stage: lightning.TrainerStage, rows: Feeding, *, validates: bool = False) -> None:
    """What the trainer does where it evaluates; behind it, each part has the mode that it had."""
    run, module, node = fit.run, fit.module, fit.node
    if not any(fit.has(name) for name in stage.hooks):
        return
    grad, mode, own = run.grad, module.fact(Fact.MODE), modes.own_mode(run, module).training
    run.heap.set(run.state.fields, "grad", value=False)
    if own is False:  # what left it in that mode is the one that is told
        modes.put(run, module, training_=False)
    else:
        modes.set_mode(run, module, training_=False, node=node, name=module.class_name)
    kept: list[Value] = []
    for name in stage.hooks:
        if name.endswith("_step") and fit.has(name):
            _batches(fit, name, rows, partial(_scored, fit, name), validates=validates, kept=kept)
        elif not lightning.is_for_batches(name):
            fit.hook(name, *_outputs(fit, name, rows, kept))
    run.heap.set(run.state.fields, "grad", grad)
    if own is not False:
        modes.set_mode(run, module, training_=own, node=node, name=module.class_name)
    run.heap.set(module.facts, Fact.MODE, mode)


def _scored(fit: Fit, name: str, batch: Value, number: Value) -> Value:
    """What a hook makes of a batch that is evaluated, with those around it."""
    stem = name.removesuffix("_step")
    fit.hook(f"on_{stem}_batch_start", batch, number)
    output = fit.hook(name, batch, number) or NOTHING
    output = fit.hook(f"{name}_end", output) or output
    fit.hook(f"on_{stem}_batch_end", output, batch, number)
    return output


def _without_graph(run: Run, output: Value) -> Value:
    """What the trainer keeps of what a step for training returns: a dict with the loss, without graphs."""
    fields = output.fields if isinstance(output, Mapping) else {("key", "loss"): output}
    kept: Mapping = run.own(Mapping(None))
    for key, value in fields.items():
        if isinstance(value, Value):
            found = run.resolve(value)
            kept.fields[key] = found.with_flow(found.flow.cut()) if isinstance(found, Tensor) else Unknown()
    return kept


def _outputs(fit: Fit, name: str, rows: Feeding, kept: list[Value]) -> tuple[Value, ...]:
    """What a hook behind an epoch got before Lightning 2: what the steps returned, of one loader."""
    if not name.endswith("_epoch_end") or not kept or len(rows.loaders) != 1:
        return ()
    return (fit.run.own(Sequence("list", Content((), kept[-1]), fit.run.site(fit.node))),)


def _batches(
    fit: Fit,
    name: str,
    rows: Feeding,
    step: Callable[[Value, Value], Value],
    *,
    kept: list[Value],
    validates: bool = False,
) -> None:
    """Go through the batches that a step gets: of several loaders, those for training side by side, others one after the other.

    What the steps return is `kept`.
    """

    def noted(batch: Value, number: Value) -> Value:
        kept.append(step(batch, number))
        return kept[-1]

    function = module_parts.method_of(fit.module, name)
    assert function is not None
    together = name == "training_step" and (len(rows.loaders) != 1 or rows.given not in rows.loaders)
    for loader in (rows.given,) if together else rows.loaders:
        batches.through(fit.run, function.node, fit.node, loader, rows.over, noted, validates=validates)


def _finish(fit: Fit, driven: lightning_optimizers.Driven) -> None:
    """Call whatever else a module has for a trainer, in no order, but for what steps schedulers that nobody knows: last."""
    updates = driven.optimizers(fit.run) and not lightning_optimizers.is_manual(fit.module)
    called = {lightning.STEPPING, *(lightning.UPDATE if updates else ())}
    for name in sorted(lightning.LIGHTNING.hooks - lightning.IN_ORDER - called):
        fit.hook(name)
    if not driven.schedulers(fit.run, ""):
        fit.hook(lightning.STEPPING)
