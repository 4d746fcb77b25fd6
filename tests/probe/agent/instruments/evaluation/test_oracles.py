"""Evaluations that a copy of the process finishes with predictions made from the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import CONSTANT, FIRST_WRONG, LAST_WRONG, PERFECT, RANDOM, SHUFFLED, AnswersScored

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
    assert event.figures[FIRST_WRONG] == event.figures[LAST_WRONG] < 1
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


def test_wrong_predictions_of_the_last_batch_count_more_in_a_mean_of_means(seen: Callable[..., list[Any]]) -> None:
    body = "right += (scores.argmax(1) == y).float().mean().item()"
    (event,) = returned(seen(script(body, "right / len(loader)"), AnswersScored, "oracles"))
    first, last = (event.figures[PERFECT] - event.figures[each] for each in (FIRST_WRONG, LAST_WRONG))
    assert (event.sizes, event.wrong) == ((16, 12), 4)
    assert last / first == pytest.approx(16 / 12)


def test_a_batch_needs_no_loader(seen: Callable[..., list[Any]]) -> None:
    parts = script().replace(
        "for x, y in loader:", "for x, y in zip(*(each.split(16) for each in loader.dataset.tensors)):"
    )
    (event,) = returned(seen(parts, AnswersScored, "oracles"))
    assert (event.figures[PERFECT], event.batches) == (1.0, 4)


def test_labels_of_the_batch_before_are_none_of_this_one(seen: Callable[..., list[Any]]) -> None:
    late = script().replace(
        "for x, y in loader:", "y = loader.dataset.tensors[1][:16]\n        for i in range(0, 60, 16):"
    )
    late = late.replace(
        "scores = model(x)",
        "scores = model(loader.dataset.tensors[0][i:i + 16]); y = loader.dataset.tensors[1][i:i + 16]",
    )
    assert seen(late, AnswersScored, "oracles") == []


def test_a_generator_may_go_through_the_batches(seen: Callable[..., list[Any]]) -> None:
    body = "yield (scores.argmax(1) == y).float().mean().item()"
    text = script(body, "total").replace(
        "history.append(evaluate(loader))", "history.append(sum(list(evaluate(loader))) / 4)"
    )
    events = seen(text, AnswersScored, "oracles")
    assert [event.figures[PERFECT] for event in events if event.how == "printed"][:1] == [1.0]


def test_comparisons_with_labels_are_counted(seen: Callable[..., list[Any]]) -> None:
    events = seen(script(), AnswersScored, "oracles")
    (event,) = [event for event in events if event.how == "compared"]
    assert event.figures == event.shares


def test_two_dimensions_may_have_the_classes(seen: Callable[..., list[Any]]) -> None:
    data: dict[str, Any] = {"width": "3, 4", "labels": "torch.arange(180).view(60, 3) % 3", "outputs": 3}
    text = script(**data).replace("nn.Linear(3, 4, 3)", "nn.Linear(4, 3)")
    (event,) = seen(text, AnswersScored, "oracles")
    assert "two dimensions" in event.unknown


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
