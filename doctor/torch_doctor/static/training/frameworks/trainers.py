"""Trainers of transformers, and of the project that derive from these: what they were given, and the batches that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.flow import EMPTY
from torch_doctor.static.libraries import transformers
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
    Partial,
    Tool,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_OWN = ("get_train_dataloader", "training_step", "train", "_prepare_inputs", "_get_train_sampler")
"""Methods by which a class of the project trains in another way than its base."""
_LOSS = "compute_loss_func"
"""The argument that computes the loss instead of the model."""


def told(run: Run, thing: Instance, call: Call) -> None:
    """The constructor of a base class out of sight gets these."""
    if _base(thing):
        run.heap.set(thing.facts, Fact.GIVEN_TO_BASE, call)


def given(trainer: Value) -> dict[str, Value] | None:
    """What a trainer was given, by the names of its parameters, or has as such attributes since.

    None for anything else, or where that is not known.
    """
    if isinstance(trainer, Instance):
        call = trainer.fact(Fact.GIVEN_TO_BASE)
        name, args, keywords = (_base(trainer), call.args, call.keywords) if call is not None else ("", (), {})
    elif isinstance(trainer, Tool):
        name, args, keywords = trainer.name, trainer.args, trainer.keywords
    else:
        return None
    parameters = transformers.LABEL_TRAINERS.get(canonical(name))
    if parameters is None or "**" in keywords or not trainer.fields.keys().isdisjoint((*_OWN, _LOSS, "compute_loss")):
        return None
    later = {key: value for key, value in trainer.fields.items() if key in parameters and isinstance(value, Value)}
    known = {**dict(zip(parameters, args, strict=False)), **keywords, **later}
    if canonical(name) in transformers.PREPARING_TRAINERS:
        known = {"data_collator": Unknown(), **known, "train_dataset": Unknown()}
    return known


def loss_of(thing: Instance) -> Bound | None:
    """The loss that a trainer of a class of the project computes itself; None where it is that of its base, or of its model."""
    found = thing.cls.find("compute_loss") if _base(thing) else None
    return Bound(found[0], thing) if found is not None and isinstance(found[0], FunctionValue) else None


class Labelled(Struct, frozen=True):
    """What a trainer gives its model, whose own loss of the labels goes backward; `model` is where that loss looks."""

    model: str
    tokens: Value | None
    labels: Value


def labelled(run: Run, trainer: Value) -> Labelled | None:
    """What a trainer gives a model that computes its loss itself; None for any other trainer, or where that is not known."""
    if isinstance(trainer, Instance) and (loss_of(trainer) is not None or _trains_otherwise(trainer)):
        return None
    known = given(trainer)
    model = None if known is None else known.get("model")
    looks = "" if model is None or (known and _LOSS in known) else _looks(run.resolve(model))
    batch = batch_of(run, known, EMPTY) if known is not None and looks else None
    tokens, labels = (
        batch.fields.get(("key", name)) if isinstance(batch, Mapping) else None for name in ("input_ids", "labels")
    )
    return Labelled(looks, tokens, labels) if isinstance(labels, Value) else None


def batch_of(run: Run, known: dict[str, Value], flow: Flow) -> Value:
    """What a trainer makes of its rows; one of which nothing is known where that is not in sight."""
    data, collator = (run.resolve(known.get(name, Unknown())) for name in ("train_dataset", "data_collator"))
    item = datasets.item_of(run, data)
    if "data_collator" not in known or getattr(collator, "name", "") in transformers.LABEL_COLLATORS:
        return Unknown(flow) if item is None else datasets.batched(run, item, flow)
    if isinstance(collator, (Bound, FunctionValue, Instance, Partial)):
        return collating.of_function(run, collator, item or Unknown(), flow) or Unknown(flow)
    return Unknown(flow)


def _looks(model: Value) -> str:
    """Where the loss of a model looks; a model that is given by its name is a causal one."""
    return NEXT if isinstance(model, Const) and isinstance(model.value, str) else language_models.loss_of(model)


def _base(thing: Instance) -> str:
    """The trainer of a library that a class derives from; "" where there is none, or something else between them."""
    names = [canonical(name) for name in thing.cls.libraries()]
    return names[0] if names and names[0] in transformers.LABEL_TRAINERS else ""


def _trains_otherwise(thing: Instance) -> bool:
    return any(thing.cls.find(name) is not None for name in _OWN)
