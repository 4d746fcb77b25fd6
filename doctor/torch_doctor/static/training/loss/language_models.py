"""What models of transformers answer: the loss of the labels that they were given, and scores of classes or of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.static.flow import NONE
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.libraries import transformers
from torch_doctor.static.measuring import making
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.language import NEXT
from torch_doctor.static.values import Const, Making, Module, Tensor, Unknown, Value
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol
    from torch_doctor.trace import PaddedTargets, TokensCompared

SCORES: Final = "scores of tokens"
"""Names how the scores are made that a model for the next token gives for each of its tokens, which are the one argument."""
CLASS_SCORES: Final = "scores of classes"
"""Names how the scores are made that any other model gives: `of` is how many dimensions they have."""


def loss_of(module: Value) -> str:
    """Where the loss of a model looks that it computes over its labels: a word of `tables/language.py`; "" where it has none."""
    if not isinstance(module, Module) or module.cls is not None:
        return ""
    given = module.given[0] if module.given else None
    text = given.value if isinstance(given, Const) and isinstance(given.value, str) else ""
    return transformers.token_loss(module.layer, text)


class _Loss(Struct, frozen=True):
    """In a history: the loss of the answer with this number."""

    of: int


class Answers(Knowledge):
    """What models have answered: how their scores are made, and which answers have a loss of labels in them.

    `said` are the events that speak of the loss of an answer, by the answer's number.
    """

    scores: dict[Symbol, Making] = per_run(dict)
    labelled: dict[Symbol, int] = per_run(dict)
    said: dict[int, list[PaddedTargets | TokensCompared]] = per_run(dict)


def answered(run: Run, module: Module, call: Call, answer: Value) -> Value:
    """Note what a model of a library has answered: which scores, and whether there is a loss in it."""
    if not isinstance(answer, Unknown):
        return answer
    tokens, known, looks = call.argument(0, "input_ids"), run.of(Answers), loss_of(module)
    dims = transformers.dims_of_scores(module.layer)
    made = None
    if looks == NEXT and isinstance(tokens, (Tensor, Unknown)):
        made = making(SCORES, (tokens,))
    elif dims:
        made = making(CLASS_SCORES, (), of=dims)
    if made is not None:
        known.scores[answer.symbol] = made
    if (looks or dims) and "labels" in call.keywords:
        known.labelled[answer.symbol] = len(known.said)
        known.said[len(known.said)] = []
    return answer


def same(run: Run, before: Value, after: Unknown) -> Unknown:
    """The same answer, of which something else is known."""
    known = run.of(Answers)
    if isinstance(before, Unknown) and before.symbol in known.scores:
        known.scores[after.symbol] = known.scores[before.symbol]
    if isinstance(before, Unknown) and before.symbol in known.labelled:
        known.labelled[after.symbol] = known.labelled[before.symbol]
    return after


def has_loss(run: Run, answer: Value) -> bool:
    """Whether the answer of a model has a loss of labels in it."""
    return isinstance(answer, Unknown) and answer.symbol in run.of(Answers).labelled


def speaks(run: Run, answer: Value, event: PaddedTargets | TokensCompared) -> None:
    """An event speaks of the loss in an answer, which nothing has used yet."""
    known = run.of(Answers)
    if isinstance(answer, Unknown) and answer.symbol in known.labelled:
        known.said[known.labelled[answer.symbol]].append(event)


def taken(run: Run, answer: Value, part: object, flow: Flow) -> Flow:
    """The history of a part that is taken of a value, by its name or its place: it tells of the loss of an answer.

    A loss without a graph is used as soon as it is taken.
    """
    number = (
        run.of(Answers).labelled.get(answer.symbol) if isinstance(answer, Unknown) and part in ("loss", 0) else None
    )
    if number is None:
        return flow
    if flow.graph is False:
        _used(run, number)
        return flow
    return replace(flow, parts=flow.parts | {(NONE, (_Loss(number), NONE))})


def gone_backward(run: Run, flow: Flow) -> None:
    """Gradients are computed of something: the losses in it are used."""
    waiting, seen = [flow.parts] if run.of(Answers).labelled else [], set[object]()
    while waiting:
        parts = waiting.pop()
        if parts in seen:
            continue
        seen.add(parts)
        for _, (place, inner) in parts:
            waiting.append(inner)
            if isinstance(place, _Loss):
                _used(run, place.of)


def _used(run: Run, number: int) -> None:
    for event in run.of(Answers).said[number]:
        run.trace.replace(event, used=True)


def part(run: Run, answer: Unknown, name: object) -> Value | None:
    """The loss or the scores in a model's answer, by their name or place; None for another part, or of anything else."""
    known = run.of(Answers)
    made, labelled = known.scores.get(answer.symbol), answer.symbol in known.labelled
    if made is None or not answer.flow.forwards:
        return None
    if labelled and name in ("loss", 0):
        return Tensor(taken(run, answer, name, answer.flow), Kind.LOSS, scalar=True)
    return Tensor(answer.flow, Kind.LOGITS, meta=made) if name in ("logits", int(labelled)) else None


def are_of_classes(scores: Tensor) -> bool:
    """Whether these are the scores of a model of a library, with the classes in the last dimension."""
    return isinstance(scores.meta, Making) and scores.meta.name == CLASS_SCORES
