"""Evaluations that copies of the process finish with other predictions for labels that a loss leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import PaddingScored

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(24, 5, 6)
y = torch.arange(24 * 5).view(24, 5) % 4
y[:, {void}:] = {fill}
loader = DataLoader(TensorDataset(x, y), batch_size=10)
model = nn.Linear(6, 4)
loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y, ignore_index={fill})
def evaluate(loader):
    right = total = 0
    shares = []
    with torch.no_grad():
        for x, y in loader:
            guess = model(x).argmax(-1)
            valid = y != {fill}
            {body}
    return {result}
print(evaluate(loader))
"""


def script(body: str, result: str = "right / total", fill: int = -100, void: int = 3) -> str:
    return SCRIPT.format(body=body, result=result, fill=fill, void=void)


def counted(events: list[Any]) -> set[bool | None]:
    return {event.counted for event in events}


@pytest.mark.parametrize("fill", [-100, 255])
@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("right += (guess == y).sum().item(); total += y.numel()", "right / total"),
        ("shares.append((guess == y).float().mean().item())", "100 * sum(shares) / len(shares)"),
    ],
)
def test_correct_predictions_score_the_share_of_labels_that_are_no_padding(
    seen: Callable[..., list[Any]], fill: int, body: str, result: str
) -> None:
    events = seen(script(body, result, fill), PaddingScored, "padded_scores")
    assert counted(events) == {True}
    assert {(event.positions, event.of) for event in events} == {(48, 120)}
    assert {round(event.right, 3) for event in events} <= {0.6, 60.0}


def test_other_predictions_change_a_score_that_counts_padding_of_a_class(seen: Callable[..., list[Any]]) -> None:
    body = "right += (guess == y).sum().item(); total += valid.sum().item()"
    events = seen(script(body, fill=0), PaddingScored, "padded_scores")
    assert counted(events) == {True}
    assert all(event.right > event.other == 1 for event in events)


@pytest.mark.parametrize(
    "body",
    [
        "right += (guess[valid] == y[valid]).sum().item(); total += valid.sum().item()",
        "right += (guess == y).sum().item(); total += valid.sum().item()",
    ],
)
def test_a_score_that_leaves_padding_out_is_best_for_correct_predictions(
    seen: Callable[..., list[Any]], body: str
) -> None:
    assert counted(seen(script(body), PaddingScored, "padded_scores")) == {False}


def test_without_such_labels_nothing_is_known(seen: Callable[..., list[Any]]) -> None:
    events = seen(
        script("right += (guess == y).sum().item(); total += y.numel()", fill=255, void=5),
        PaddingScored,
        "padded_scores",
    )
    assert counted(events) == {None}
    assert "no label" in events[0].unknown


def test_the_first_of_several_labels_of_a_loss_that_ignores_nothing_are_not_asked_about(
    seen: Callable[..., list[Any]],
) -> None:
    body = "right += (guess == y).sum().item(); total += y.numel()"
    text = script(body, fill=3).replace(", ignore_index=3", "")
    assert seen(text, PaddingScored, "padded_scores") == []
