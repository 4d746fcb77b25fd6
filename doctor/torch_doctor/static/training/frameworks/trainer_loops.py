"""What a trainer of transformers does with a model and its rows, executed as if the script had written the loops."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.libraries import transformers
from torch_doctor.static.training import rows
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import batches, trainer_best, trainer_metrics, trainer_settings, trainers
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import roles
from torch_doctor.static.training.update import gradients
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
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
    Tool,
    Unknown,
    Value,
)
from torch_doctor.trace import LoaderBuilt, Owned, PaddingRead, SchedulerStepped, ZeroGrad

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site


_NAME = re.compile(r"[\w.]+(\[[^\[\]]*\])?")
"""How a script spells a data set that it hands over: a name, or an item of one."""


class TrainerTask(Struct, frozen=True):
    """A trainer that is asked for something at `node`, what it was given, and its model."""

    run: Run
    trainer: Tool | Instance
    node: p.Node
    known: dict[str, Value]
    model: Module

    def own(self, name: str, *args: Value, **extra: Value) -> Value | None:
        """Call a method that a class of the project has instead of that of its base; None where it has none."""
        method = trainers.own_method(self.trainer, name)
        return None if method is None else self.call(method, *args, **extra)

    def call(self, function: Value, *args: Value, **extra: Value) -> Value:
        """Call a function with those of the named arguments that it takes."""
        made = function.function if isinstance(function, Bound) else function
        parameters = made.node.parameters if isinstance(made, FunctionValue) else ()
        takes = {each.name for each in parameters} | {"**" for each in parameters if each.kind == "kwargs"}
        keywords = {name: value for name, value in extra.items() if name in takes or "**" in takes}
        return self.run.resolve(self.run.call(function, Call(args, keywords, self.node)))


def called(run: Run, trainer: Tool | Instance, name: str, call: Call) -> None:
    """What a method of a trainer does, where it trains or scores."""
    if run.modules_called or name not in transformers.TRAINER_METHODS:
        return
    known = trainers.given(trainer)
    model = None if known is None else run.resolve(known.get("model", Unknown()))
    if known is None or not isinstance(model, Module):
        fits = name == "train" and known is not None and trainers.own_method(trainer, "compute_loss") is not None
        loads = isinstance(model, Const) and isinstance(model.value, str)
        model = roles.module_by_role(run, "model") if fits or loads else None
    asked = TrainerTask(run, trainer, call.node, known or {}, model) if model is not None else None
    if asked is not None and name == "train":
        _train(asked)
    elif asked is not None:
        data, text = call.argument(0, "eval_dataset", "test_dataset"), run.text_of_argument(call.node, 0)
        here = data is not None and not (isinstance(data, Const) and data.value is None)
        site = run.site(call.node) if here else trainers.place_of(trainer, "eval_dataset")
        named = text if _NAME.fullmatch(text) else "test_dataset"
        over = named if here else "eval_dataset"
        rows_ = data if here and data is not None else known.get("eval_dataset", Unknown()) if known else Unknown()
        _evaluate(asked, rows_, over, site, meant=not here)
    if name != "predict":
        trainer_metrics.scored(run, trainer, call.node)


def alone(run: Run, trainer: Instance, node: p.Node) -> None:
    """What a trainer does that nobody in sight uses, and that computes its loss itself."""
    if trainers.own_method(trainer, "compute_loss") is not None:
        _train(TrainerTask(run, trainer, node, trainers.given(trainer) or {}, roles.module_by_role(run, "model")))


def inherited(run: Run, trainer: Instance, name: str, call: Call) -> Value | None:
    """A method that a class of the project has from its base; None where nothing is known of it."""
    known = trainers.given(trainer) if trainers.base(trainer) and name in transformers.TRAINER_PARTS else None
    if known is None:
        return None
    given = run.resolve(call.argument(0, "model", "inputs") or known.get("model", Unknown()))
    if name == "_prepare_inputs":
        return given
    if not isinstance(given, Module):
        return None
    asked = TrainerTask(run, trainer, call.node, known, given)
    if name == "create_optimizer":
        return _optimizer(asked)
    inputs = run.resolve(call.argument(1, "inputs") or Unknown())
    if name == "training_step":
        return _trained_step(asked, inputs)
    loss, output = _base_loss(asked, inputs)
    both = call.flag("return_outputs", position=2, default=False)
    return loss if both is False else run.own(Sequence("tuple", Content((loss, output))))


# --- training ---


def _train(asked: TrainerTask) -> None:
    """Clear, go forward, backward and step for each batch, and score behind an epoch where that is asked for."""
    run, model = asked.run, asked.model
    driven: frozenset[int] = run.state.fact(Fact.DRIVEN)
    if asked.trainer.id in driven:
        return
    run.heap.set(run.state.facts, Fact.DRIVEN, driven | {asked.trainer.id})
    run.emit(Owned, asked.node, framework="transformers")
    optimizer, schedulers = _driven(asked)
    loader = _loader(asked, "train_dataset", trainers.place_of(asked.trainer, "train_dataset"), training=True)

    def step(batch: Value, _: Value) -> Value:
        run.emit(ZeroGrad, asked.node, target=optimizer.id, name="optimizer", modules=optimizer.modules, whole=True)
        inputs = trainers.batch_of(run, asked.known, batch.flow)
        loss = asked.own("training_step", model, inputs, num_items_in_batch=Plain())
        if loss is None:
            loss = _trained_step(asked, inputs)
        gradients.stepped(run, optimizer, asked.node, "optimizer")
        for each in schedulers:
            run.emit(SchedulerStepped, asked.node, scheduler=each.id, optimizer=optimizer.id, name="")
        return loss

    batches.through(run, asked.node, asked.node, loader, "train_dataset", step)
    if trainer_settings.evaluates(run, asked.known.get("args")) and "eval_dataset" in asked.known:
        site = trainers.place_of(asked.trainer, "eval_dataset")
        _evaluate(asked, asked.known["eval_dataset"], "eval_dataset", site, meant=True)


def _driven(asked: TrainerTask) -> tuple[Optimizer, list[Tool]]:
    """The optimizer and the schedulers that are stepped."""
    run = asked.run
    made = asked.own("create_optimizer")
    made = asked.trainer.fields.get("optimizer") if made is None or not isinstance(made, Optimizer) else made
    given = run.resolve(asked.known.get("optimizers", NOTHING))
    told = [run.resolve(each) for each in given.content.items] if isinstance(given, Sequence) else []
    found = [each for each in (made, *told) if isinstance(each, Optimizer)]
    return found[0] if found else _optimizer(asked), [each for each in told if isinstance(each, Tool)]


def _optimizer(asked: TrainerTask) -> Optimizer:
    """The optimizer that a trainer builds, of all that is trained."""
    run = asked.run
    made: Optimizer = run.own(Optimizer(None, "", module_parts.parts_of(run, asked.model).owners, whole=True))
    return made


def _trained_step(asked: TrainerTask, inputs: Value) -> Value:
    """What a trainer does with one batch: it sets the mode and goes backward."""
    run = asked.run
    modes.set_mode(run, asked.model, training_=True, node=asked.node, name="model")
    loss = _loss(asked, inputs)[0]
    gradients.backward(run, loss, Call((), {}, asked.node, "loss"), through="transformers")
    return loss


def _loss(asked: TrainerTask, inputs: Value, *, outputs: bool = False) -> tuple[Value, Value]:
    """The loss of a batch, and what the model answered if that is asked for."""
    both = {"return_outputs": Const(value=True)} if outputs else {}
    own = asked.own("compute_loss", asked.model, inputs, num_items_in_batch=Plain(), **both)
    if own is None:
        return _base_loss(asked, inputs)
    if outputs and isinstance(own, Sequence) and len(own.content.items) > 1:
        return asked.run.resolve(own.content.items[0]), asked.run.resolve(own.content.items[1])
    return own, Unknown()


def _base_loss(asked: TrainerTask, inputs: Value) -> tuple[Value, Value]:
    """The loss that the model answers with, or that a function computes of its answer and the labels."""
    run, function = asked.run, asked.run.resolve(asked.known.get(trainers.LOSS_FUNCTION, NOTHING))
    fields = dict(inputs.fields) if isinstance(inputs, Mapping) else {}
    labels = fields.get(("key", "labels"))
    speaks = bool(language_models.loss_of(asked.model))  # its observers read what the trainer was given
    if isinstance(function, (FunctionValue, Bound)) or speaks:
        fields.pop(("key", "labels"), None)
    before = run.trace.next
    output = run.resolve(run.call(asked.model, Call((), _keywords(asked, inputs, fields), asked.node, "model")))
    place = inputs.born if isinstance(inputs, Mapping) else None
    for event in run.trace.of(PaddingRead) if place is not None else ():
        if event.index >= before and event.site == run.site(asked.node):
            run.trace.replace(event, site=place)  # the script puts together there what the model gets
    if isinstance(function, (FunctionValue, Bound)):
        truth = labels if isinstance(labels, Value) else Unknown(inputs.flow)
        return asked.call(function, output, truth, num_items_in_batch=Plain()), output
    if isinstance(output, Mapping):
        found = output.fields.get(("key", "loss"))
        return (run.resolve(found) if isinstance(found, Value) else Unknown()), output
    if isinstance(output, Sequence) and output.content.items:
        return run.resolve(output.content.items[0]), output
    return run.attribute(output, "loss", asked.node) if isinstance(output, Unknown) else output, output


def _keywords(asked: TrainerTask, inputs: Value, fields: dict[object, object]) -> dict[str, Value]:
    """The columns of a batch that the model takes: a trainer removes the others."""
    if not isinstance(inputs, Mapping) or "rest" in fields:
        return {"**": inputs}
    names = {key[1]: value for key, value in fields.items() if isinstance(key, tuple) and isinstance(value, Value)}
    function = module_parts.method_of(asked.model, "forward")
    parameters = function.node.parameters if function is not None else ()
    takes = {each.name for each in parameters}
    everything = function is None or any(each.kind == "kwargs" for each in parameters)
    return {str(name): value for name, value in names.items() if everything or name in takes}


# --- scoring ---


def _evaluate(asked: TrainerTask, data: Value, over: str, site: Site | None, *, meant: bool) -> None:
    """Go through rows in evaluation mode, and hand what the model answers to the function that scores it."""
    run, model = asked.run, asked.model
    asked = TrainerTask(run, asked.trainer, asked.node, {**asked.known, over: data}, model)
    run.emit(Owned, asked.node, framework="transformers")
    loader = _loader(asked, over, site, training=False, meant=meant)
    grad, mode = run.grad, model.fact(Fact.MODE)
    run.heap.set(run.state.fields, "grad", value=False)
    modes.set_mode(run, model, training_=False, node=asked.node, name="model")
    answered: list[tuple[Value, Value]] = []

    def step(batch: Value, _: Value) -> Value:
        inputs = trainers.batch_of(run, asked.known, batch.flow, over)
        labels = inputs.fields.get(("key", "labels")) if isinstance(inputs, Mapping) else None
        loss, output = _loss(asked, inputs, outputs=True)
        answered.append((output, labels if isinstance(labels, Value) else Unknown(inputs.flow)))
        return loss

    batches.through(run, asked.node, asked.node, loader, over, step)
    run.heap.set(run.state.fields, "grad", grad)
    run.heap.set(model.facts, Fact.MODE, mode)
    figures = trainer_metrics.score(run, asked.trainer, asked.known, asked.node, *answered[-1]) if answered else None
    trainer_best.chosen(run, asked.known.get("args"), figures)


def _loader(asked: TrainerTask, name: str, site: Site | None, *, training: bool, meant: bool = False) -> Value:
    """The loader that a trainer builds over a data set: only that for the training is shuffled."""
    run = asked.run
    own = asked.own("get_train_dataloader" if training else "get_eval_dataloader")
    if own is not None:
        return own
    loader: Loader = run.own(Loader(site))
    loader.fields["collate_fn"] = Unknown()
    data = run.resolve(asked.known.get(name, Unknown()))
    one = not isinstance(data, Mapping)
    run.emit(
        LoaderBuilt,
        asked.node if site is None else site,
        loader=loader.id,
        called=name,
        dataset=rows.describe(run, data, asked.node if site is None else site) if one else 0,
        shuffle=training,
        sampled=False if one else None,
        drop_last=trainer_settings.flag(run, asked.known.get("args"), "dataloader_drop_last", default=False)
        if training or meant
        else None,
        unseen=not one,
        scores=meant and one,
    )
    return loader
