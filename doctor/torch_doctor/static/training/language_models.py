"""Models of libraries that compute the loss of their tokens themselves: where they look, and what their scores are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.libraries import transformers
from torch_doctor.static.measuring import making
from torch_doctor.static.tables.language import NEXT
from torch_doctor.static.values import Const, Module, Tensor, Unknown, Value
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol

SCORES: Final = "scores of tokens"
"""Names how the scores are made that such a model gives for each of its tokens, which are the one argument."""


def loss_of(module: Value) -> str:
    """Where the loss of a model looks that it computes over its labels: a word of `tables/language.py`; "" where it has none."""
    if not isinstance(module, Module) or module.cls is not None:
        return ""
    given = module.given[0] if module.given else None
    text = given.value if isinstance(given, Const) and isinstance(given.value, str) else ""
    return transformers.token_loss(module.layer, text)


class Answers(Knowledge):
    """What models for the next token have answered to which tokens."""

    def __init__(self) -> None:
        self.tokens: dict[Symbol, Value] = {}


def answered(run: Run, module: Module, call: Call, answer: Value) -> Value:
    """What a model of a library has answered: where it looks back only, what it was given is remembered."""
    tokens = call.argument(0, "input_ids")
    if isinstance(answer, Unknown) and isinstance(tokens, (Tensor, Unknown)) and loss_of(module) == NEXT:
        run.of(Answers).tokens[answer.symbol] = tokens
    return answer


def same(run: Run, before: Value, after: Unknown) -> Unknown:
    """The same answer, of which something else is known."""
    known = run.of(Answers).tokens
    if isinstance(before, Unknown) and known and before.symbol in known:
        known[after.symbol] = known[before.symbol]
    return after


def scores(run: Run, answer: Unknown, name: str) -> Value | None:
    """The scores in a model's answer; None for another attribute, or of anything else."""
    tokens = run.of(Answers).tokens.get(answer.symbol) if name == "logits" and answer.flow.forwards else None
    return None if tokens is None else Tensor(answer.flow, Kind.LOGITS, meta=making(SCORES, (tokens,)))
