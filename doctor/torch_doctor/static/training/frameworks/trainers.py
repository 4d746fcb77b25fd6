"""Trainers of transformers, and of the project that derive from these: what they were given, and the batches that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.flow import EMPTY
from torch_doctor.static.libraries import accelerate, transformers
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.language import NEXT
from torch_doctor.static.training import collating
from torch_doctor.static.training.data import datasets
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.values import (
    Bound,
    Const,
    Fact,
    FunctionValue,
    Instance,
    Mapping,
    Module,
    Partial,
    Tool,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

_OWN = ("get_train_dataloader", "training_step", "train", "_prepare_inputs", "_get_train_sampler")
"""Methods by which a class of the project trains in another way than its base."""
LOSS_FUNCTION = "compute_loss_func"
"""The argument that computes the loss instead of the model."""
_PREPARES = "its own rows"
"""What is noted of a trainer that makes other rows of those that it is given, from the same samples."""
_LABELS = ("label", "label_ids")
"""Names under which the collators of transformers take labels, too."""


class TrainerCall(Struct, frozen=True, eq=False):
    """The call of the constructor of a trainer of transformers, and where its arguments stand that have a name."""

    call: Call
    places: dict[str, Site]


def constructed(run: Run, trainer: Tool | Instance, call: Call) -> None:
    """Note where the arguments of a trainer stand."""
    if isinstance(trainer, Tool) or base(trainer):
        given_: TrainerCall | None = trainer.fact(Fact.GIVEN_TO_BASE)
        node = call.node
        keywords = dict(node.keywords) if isinstance(node, p.Call) else {}
        places = {} if given_ is None else given_.places
        places = {**{name: run.site(value) for name, value in keywords.items() if name}, **places}
        run.heap.set(trainer.facts, Fact.GIVEN_TO_BASE, TrainerCall(call, places))


def told(run: Run, thing: Instance, call: Call) -> None:
    """The constructor of a base class out of sight gets these, and keeps them as attributes."""
    if not base(thing):
        return
    constructed(run, thing, call)
    known = given(thing) or {}
    for name in transformers.KEPT_ARGUMENTS:
        if name in known:
            run.heap.set(thing.fields, name, known[name])
    own: Tool = run.own(Tool(thing.born, next(iter(accelerate.ACCELERATE.owners))))
    run.heap.set(thing.fields, "accelerator", own)


def given(trainer: Value) -> dict[str, Value] | None:
    """What a trainer was given, by the names of its parameters, or has as such attributes since.

    None for anything else, or where that is not known.
    """
    if not isinstance(trainer, (Tool, Instance)):
        return None
    noted: TrainerCall | None = trainer.fact(Fact.GIVEN_TO_BASE)
    name = trainer.name if isinstance(trainer, Tool) else base(trainer)
    parameters = transformers.LABEL_TRAINERS.get(canonical(name))
    if parameters is None or noted is None or "**" in noted.call.keywords:
        return None
    if not trainer.fields.keys().isdisjoint((*_OWN, LOSS_FUNCTION, "compute_loss")):
        return None
    later = {key: value for key, value in trainer.fields.items() if key in parameters and isinstance(value, Value)}
    known = {**dict(zip(parameters, noted.call.args, strict=False)), **noted.call.keywords, **later}
    if canonical(name) in transformers.PREPARING_TRAINERS:
        known = {"data_collator": Unknown(), **known, _PREPARES: Const(value=True)}
    return known


def held_until_asked(run: Run, trainer: Tool) -> list[Module]:
    """The model that the constructor of a trainer only moves: nothing trains or thaws it before a method is called."""
    model = run.resolve((given(trainer) or {}).get("model", Unknown()))
    own = canonical(trainer.name) not in transformers.PREPARING_TRAINERS
    return [model] if own and isinstance(model, Module) else []


def place_of(trainer: Tool | Instance, name: str) -> Site | None:
    """Where an argument of the constructor stands; where the trainer is constructed if that is not known."""
    noted: TrainerCall | None = trainer.fact(Fact.GIVEN_TO_BASE)
    return noted.places.get(name, trainer.born) if noted is not None else trainer.born


def own_method(trainer: Tool | Instance, name: str) -> Bound | None:
    """A method of a class of the project that a trainer has instead of that of its base."""
    found = trainer.cls.find(name) if isinstance(trainer, Instance) and base(trainer) else None
    return Bound(found[0], trainer) if found is not None and isinstance(found[0], FunctionValue) else None


class Labelled(Struct, frozen=True):
    """What a trainer gives its model, whose own loss of the labels goes backward; `model` is where that loss looks.

    `place` is where the script puts tokens and labels together.
    """

    model: str
    tokens: Value | None
    labels: Value
    place: Site | None


def labelled(run: Run, trainer: Value) -> Labelled | None:
    """What a trainer gives a model that computes its loss itself; None for any other trainer, or where that is not known."""
    if isinstance(trainer, Instance) and any(own_method(trainer, name) for name in ("compute_loss", *_OWN)):
        return None
    known = given(trainer)
    model = None if known is None else known.get("model")
    looks = "" if model is None or (known and LOSS_FUNCTION in known) else _looks(run.resolve(model))
    batch = batch_of(run, known, EMPTY) if known is not None and looks else None
    tokens, labels = (
        batch.fields.get(("key", name)) if isinstance(batch, Mapping) else None for name in ("input_ids", "labels")
    )
    place = batch.born if isinstance(batch, Mapping) else None
    return Labelled(looks, tokens, labels, place) if isinstance(labels, Value) else None


def batch_of(run: Run, known: dict[str, Value], flow: Flow, name: str = "train_dataset") -> Value:
    """What a trainer makes of its rows; one of which nothing is known where that is not in sight."""
    data, collator = (run.resolve(known.get(each, Unknown())) for each in (name, "data_collator"))
    item = None if _PREPARES in known else datasets.item_of(run, data)
    if "data_collator" not in known or getattr(collator, "name", "") in transformers.LABEL_COLLATORS:
        return Unknown(flow) if item is None else _with_labels(datasets.batched(run, item, flow))
    if isinstance(collator, (Bound, FunctionValue, Instance, Partial)):
        return collating.of_function(run, collator, item or Unknown(), flow) or Unknown(flow)
    return Unknown(flow)


def _with_labels(batch: Value) -> Value:
    """The same batch, with the labels under the name that models have for them."""
    fields = batch.fields if isinstance(batch, Mapping) else {}
    for name in _LABELS:
        if ("key", name) in fields and ("key", "labels") not in fields:
            fields["key", "labels"] = fields.pop(("key", name))
    return batch


def _looks(model: Value) -> str:
    """Where the loss of a model looks; a model that is given by its name is a causal one."""
    return NEXT if isinstance(model, Const) and isinstance(model.value, str) else language_models.loss_of(model)


def base(thing: Instance) -> str:
    """The trainer of a library that a class derives from; "" where there is none, or something else between them."""
    names = [canonical(name) for name in thing.cls.libraries()]
    return names[0] if names and names[0] in transformers.LABEL_TRAINERS else ""
