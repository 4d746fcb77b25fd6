"""Functions of the project that score predictions for a trainer of a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.libraries import transformers
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.frameworks import trainer_settings, trainers
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.values import (
    ARRAY,
    Bound,
    Call,
    Content,
    Fact,
    FunctionValue,
    Instance,
    Making,
    Mapping,
    Partial,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from torch_doctor.trace import Kind, PredictionsPassed, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Tool

_FUNCTION: Final = "compute_metrics"
_CHOICE: Final = "preprocess_logits_for_metrics"


def scored(run: Run, trainer: Tool | Instance, node: p.Node) -> None:
    """Run the function that scores the predictions of a trainer, if it gets padded labels; nothing is known of the model."""
    known = trainers.given(trainer)
    if known is None or _FUNCTION not in known:
        return
    name = "eval_dataset" if "eval_dataset" in known else "train_dataset"
    batch = trainers.batch_of(run, known, EMPTY, name)
    labels = batch.fields.get(("key", "labels")) if isinstance(batch, Mapping) else None
    if isinstance(labels, Tensor) and run.ask(Padded, labels) is not None:
        _run(run, trainer, known, node, Tensor(kind=Kind.LOGITS), labels)


def score(
    run: Run, trainer: Tool | Instance, known: dict[str, Value], node: p.Node, output: Value, labels: Value
) -> Value | None:
    """Run the function that scores the predictions of a trainer on what its model has answered, and return its figures."""
    scores = _scores(run, output)
    choice = run.resolve(known[_CHOICE]) if _CHOICE in known else None
    if choice is not None:
        scores = run.resolve(run.call(choice, Call((scores, labels), {}, node))) if _function(choice) else Unknown()
    if _generates(run, trainer, known):
        scores = Unknown(scores.flow)
    return _run(run, trainer, known, node, scores, labels)


def _generates(run: Run, trainer: Tool | Instance, known: dict[str, Value]) -> bool:
    """Whether a trainer may hand over texts that the model has written instead of scores."""
    name = trainers.base(trainer) if isinstance(trainer, Instance) else canonical(trainer.name)
    told = trainer_settings.flag(run, known.get("args"), "predict_with_generate", default=False)
    return name == transformers.GENERATING_TRAINER and told is not False


def _scores(run: Run, output: Value) -> Value:
    """What a model has answered beside its loss: one tensor, or unknown ones."""
    if isinstance(output, Mapping):
        rest = [value for key, value in output.fields.items() if key != ("key", "loss") and isinstance(value, Value)]
        return run.resolve(rest[0]) if len(rest) == 1 else Unknown()
    if isinstance(output, Sequence):
        items = output.content.items[1:]
        return run.resolve(items[0]) if len(items) == 1 and output.content.rest is None else Unknown()
    if isinstance(output, Unknown):
        return language_models.part(run, output, "logits") or Unknown()
    return Unknown()


def _function(value: Value) -> FunctionValue | None:
    made = value.func if isinstance(value, Partial) else value
    made = made.function if isinstance(made, Bound) else made
    return made if isinstance(made, FunctionValue) else None


def _run(
    run: Run, trainer: Tool | Instance, known: dict[str, Value], node: p.Node, scores: Value, labels: Value
) -> Value | None:
    """Run the function, once for each trainer, and return its figures."""
    function = run.resolve(known[_FUNCTION]) if _FUNCTION in known else None
    made = None if function is None else _function(function)
    seen: frozenset[int] = run.state.fact(Fact.SCORED)
    if function is None or made is None or trainer.id in seen:
        return None
    run.heap.set(run.state.facts, Fact.SCORED, seen | {trainer.id})
    ranks = (len(measured(each).shape or ()) for each in (scores, labels))
    classes = isinstance(scores, Tensor) and scores.kind is Kind.LOGITS and tuple(ranks) == (2, 1)
    event = run.emit(PredictionsPassed, run.site(made.node), classes=classes)
    flow = Flow(graph=False, forwards=frozenset((event.index,)))
    # The arrays of all batches follow each other.
    known_scores = isinstance(scores, Tensor)
    of_classes = isinstance(scores, Tensor) and language_models.are_of_classes(scores)
    shape = scores.meta if isinstance(scores, Tensor) and of_classes else measured(scores)
    predicted = Tensor(flow, scores.kind if isinstance(scores, Tensor) else Kind.UNKNOWN, meta=shape)
    truth = labels if isinstance(labels, Tensor) else Tensor(kind=Kind.LABELS)
    truth = truth.with_flow(Flow(graph=False, source=Source.LOADER))
    parts: tuple[Value, ...] = (
        _array(predicted) if known_scores else Plain(),
        _array(truth),
    )
    given = run.own(Sequence("tuple", Content(parts), run.site(node), names=("predictions", "label_ids")))
    return run.resolve(run.call(function, Call((given,), {}, node)))


def _array(tensor: Tensor) -> Plain:
    return Plain(size=Making(ARRAY, (tensor,)))
