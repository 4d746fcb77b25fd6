"""Evaluations that a copy of the process finishes with predictions made from the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import CONSTANT, PERFECT, RANDOM, SHUFFLED, AnswersScored

if TYPE_CHECKING:
    from collections.abc import Callable

EVALUATE = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(60, {width})
loader = DataLoader(TensorDataset(x, {labels}), batch_size=16)
model = nn.Linear({width}, {outputs})
history = []
def evaluate(loader):
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            scores = model(x)
            {body}
            total += len(y)
    return {result}
history.append(evaluate(loader))
print(history[-1], len(history), torch.rand(1).item())
"""
CLASSES = {"width": 4, "labels": "torch.arange(60) % 3", "outputs": 3}
BODY = "right += (scores.argmax(1) == y).sum().item()"


def script(body: str = BODY, result: str = "right / total", **data: Any) -> str:
    return EVALUATE.format(body=body, result=result, **(data or CLASSES))


def returned(events: list[Any]) -> list[Any]:
    return [event for event in events if event.how == "returned"]


def test_perfect_predictions_of_classes_are_all_right(seen: Callable[..., list[Any]]) -> None:
    (event,) = returned(seen(script(), AnswersScored, "oracles"))
    assert (event.figures[PERFECT], event.answers, event.batches) == (1.0, 60, 4)
    assert event.figures == event.shares
    assert all(event.figures[each] < 1 for each in (CONSTANT, SHUFFLED, RANDOM))


def test_a_count_of_batches_below_it_shows(seen: Callable[..., list[Any]]) -> None:
    (event,) = returned(seen(script(result="right / len(loader)"), AnswersScored, "oracles"))
    assert event.figures[PERFECT] == 15.0


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (
            {"width": 4, "labels": "(x[:, :3] > 0).float()", "outputs": 3},
            "right += ((scores > 0).float() == y).float().mean(1).sum().item()",
        ),
        (
            {"width": 4, "labels": "(x[:, 0] > 0).float()", "outputs": 1},
            "right += ((scores.squeeze(1).sigmoid() > 0.5).float() == y).sum().item()",
        ),
        (CLASSES, "right += (scores.log_softmax(1).exp().max(1).indices == y).sum().item()"),
    ],
    ids=["several labels", "one score", "probabilities"],
)
def test_other_forms_of_answers_are_made_as_well(
    seen: Callable[..., list[Any]], data: dict[str, Any], body: str
) -> None:
    (event,) = returned(seen(script(body, **data), AnswersScored, "oracles"))
    assert event.figures[PERFECT] == pytest.approx(1.0)
    assert event.figures[CONSTANT] < 1


def test_the_error_of_perfect_numbers_is_nothing(seen: Callable[..., list[Any]]) -> None:
    numbers: dict[str, Any] = {"width": 4, "labels": "x[:, :1] * 2", "outputs": 1}
    (event,) = returned(seen(script("right += ((scores - y) ** 2).sum().item()", **numbers), AnswersScored, "oracles"))
    assert event.figures[PERFECT] == 0
    assert event.shares == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (script("right += 0", labels="torch.zeros(60, 2, 2, 2)", width=4, outputs=3), "no tensors of the batch"),
        (script("right += [1][int(scores.max() > 9)]"), "IndexError"),
        (script(BODY + "; model(x[:2])"), "outputs and labels differ in form"),
    ],
    ids=["no labels", "an error", "another forward"],
)
def test_what_cannot_be_asked_says_why(seen: Callable[..., list[Any]], text: str, why: str) -> None:
    events = seen(text, AnswersScored, "oracles")
    assert [event.figures for event in events] == [()]
    assert why in events[0].unknown


def test_the_script_goes_on_as_without_the_question(seen: Callable[..., list[Any]]) -> None:
    printed = [event for event in seen(script(), AnswersScored, "oracles") if event.how == "printed"]
    assert [event.figures[PERFECT] for event in printed][:2] == [1.0, 1.0]
    assert len(set(printed[2].figures)) == 1  # the random numbers of the script are the same in each copy
