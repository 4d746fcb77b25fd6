"""Functions of the project that score predictions for a trainer of a library, which are run where labels are known to be padded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.training.frameworks import trainers
from torch_doctor.static.values import (
    ARRAY,
    Bound,
    Call,
    Content,
    Fact,
    FunctionValue,
    Making,
    Mapping,
    Partial,
    Plain,
    Sequence,
    Tensor,
    Value,
)
from torch_doctor.trace import Kind, PredictionsPassed, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Instance, Tool

_FUNCTION: Final = "compute_metrics"
METHODS: Final = frozenset(("train", "evaluate"))
"""Methods of a trainer that may score predictions."""


def scored(run: Run, trainer: Tool | Instance, node: p.Node) -> None:
    """Run the function that scores the predictions of a trainer, once for each, if it gets padded labels."""
    known = trainers.given(trainer)
    if known is None or trainer.id in run.state.fact(Fact.DRIVEN) or _FUNCTION not in known:
        return
    function = run.resolve(known[_FUNCTION])
    made = (
        function.func
        if isinstance(function, Partial)
        else function.function
        if isinstance(function, Bound)
        else function
    )
    if not isinstance(made, FunctionValue):
        return
    data = known.get("eval_dataset", known.get("train_dataset"))
    batch = trainers.batch_of(run, known if data is None else {**known, "train_dataset": data}, EMPTY)
    labels = batch.fields.get(("key", "labels")) if isinstance(batch, Mapping) else None
    if not isinstance(labels, Tensor) or run.ask(Padded, labels) is None:
        return
    run.heap.set(run.state.facts, Fact.DRIVEN, run.state.fact(Fact.DRIVEN) | {trainer.id})
    event = run.emit(PredictionsPassed, run.site(made.node))
    scores = Tensor(Flow(graph=False, forwards=frozenset((event.index,))), Kind.LOGITS)
    truth = labels.with_flow(Flow(graph=False, source=Source.LOADER))
    parts: tuple[Value, ...] = tuple(Plain(size=Making(ARRAY, (each,))) for each in (scores, truth))
    given = run.own(Sequence("tuple", Content(parts), run.site(node), names=("predictions", "label_ids")))
    run.call(function, Call((given,), {}, node))
