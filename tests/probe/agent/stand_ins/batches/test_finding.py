"""Which batch a loop wants, told from what it does with it and from its model and loss."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from torch_doctor.probe.agent.stand_ins.batches.finding import BatchFinder
from torch_doctor.probe.agent.stand_ins.batches.making import described, made
from torch_doctor.probe.agent.stand_ins.batches.trying import NotFoundError
from torch_doctor.probe.agent.stand_ins.batches.wanted import Wanted
from torch_doctor.probe.agent.stand_ins.source import Sources

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 4
HERE = Path(__file__)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], Any]], str]:
    """Gives the batch that a pass takes, in words."""

    def found(one_pass: Callable[[Any], Any]) -> str:
        finder = BatchFinder(torch, Sources(str(HERE.parent), str(HERE)), ROWS)
        finder.call_module = nn.Module.__call__
        monkeypatch.setattr(Wanted, "finder", finder, raising=False)
        monkeypatch.setattr(nn.Module, "__call__", lambda module, *given, **named: finder.module(module, given, named))
        one_pass(Wanted(finder.batch))
        learnt = finder.batch.learnt()
        made(learnt, torch, torch.Generator(), ROWS)
        return described(learnt)

    return found


def test_pictures_and_classes_are_what_a_classifier_and_its_loss_take(found: Callable[..., str]) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 30 * 30, 7))
    criterion = nn.CrossEntropyLoss()

    def one_pass(batch: Any) -> None:
        pictures, labels = batch
        criterion(model(pictures.to("cpu").float()), labels.to("cpu").long())

    assert found(one_pass) == "4×3×32×32 float32, 4 int64 below 7"


def test_an_index_of_one_table_is_one_of_all(found: Callable[..., str]) -> None:
    source, target, out = nn.Embedding(300, 8), nn.Embedding(200, 8), nn.Linear(8, 200)

    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.source, self.target, self.out = source, target, out

        def forward(self, words: Any, before: Any) -> Any:
            return self.out(self.source(words).mean(1, keepdim=True) + self.target(before))

    model = Translator()

    def one_pass(batch: Any) -> None:
        words, target = batch["words"], batch["target"]
        nn.functional.cross_entropy(model(words, target[:, :-1]).reshape(-1, 200), target[:, 1:].reshape(-1))

    assert found(one_pass) == "words: 4×16 int64 below 200, target: 4×16 int64 below 200"


def test_a_shape_that_is_asked_for_before_the_model_is_what_the_model_at_hand_takes(found: Callable[..., str]) -> None:
    def one_pass(batch: Any) -> None:
        model = nn.Conv2d(1, 2, 3, padding=1)
        pictures, masks, _ = batch
        rows, _, height, _ = pictures.shape
        assert rows == len(pictures) == ROWS
        nn.functional.cross_entropy(model(pictures), masks.view(rows, height, -1).long())

    assert found(one_pass) == "4×1×32×32 float32, 4×32×32 int64 below 2, an unused value"


def test_the_length_that_a_linear_layer_asks_for_is_found(found: Callable[..., str]) -> None:
    class Forecaster(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.recurrent, self.out = nn.GRU(7, 16, batch_first=True), nn.Linear(16 * 24, 1)

        def forward(self, steps: Any) -> Any:
            return self.out(self.recurrent(steps)[0].flatten(1)).squeeze(1)

    model = Forecaster()

    def one_pass(batch: Any) -> None:
        steps, later = batch[0], batch[1]
        nn.functional.mse_loss(model(steps), later)

    assert found(one_pass) == "4×24×7 float32, 4 float32"


def test_numbers_in_both_places_of_a_pair_go_with_the_labels_of_a_hand_written_loss(found: Callable[..., str]) -> None:
    model = nn.Linear(20, 2)

    def one_pass(batch: Any) -> None:
        (left, right), label = batch
        distance = nn.functional.pairwise_distance(model(left), model(right))
        ((1 - label) * distance.pow(2) + label * torch.relu(1 - distance).pow(2)).mean()

    assert found(one_pass) == "4×20 float32, 4×20 float32, 4 float32"


def test_what_nothing_takes_is_not_made_up(found: Callable[..., str]) -> None:
    class Choosy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, numbers: Any) -> Any:
            raise TypeError(numbers)

    model = Choosy()

    def one_pass(batch: Any) -> None:
        with pytest.raises(NotFoundError):
            batch[0].numpy()
        with pytest.raises(TypeError):
            model(batch[0])

    assert found(one_pass) == "an unused value"


def test_a_shape_is_that_for_the_model_to_which_the_code_gives_it(found: Callable[..., str]) -> None:
    def one_pass(batch: Any) -> None:
        generator, critic = nn.Linear(100, 4), nn.Linear(4, 1)
        real, _ = batch
        rows, length = real.size(0), real.size(1)
        made = generator(torch.randn(rows, 100))
        nn.functional.binary_cross_entropy_with_logits(critic(real), torch.ones(rows, length)[:, :1])
        critic(made)

    assert found(one_pass).startswith("4×4 float32, ")


def test_what_the_code_puts_into_a_batch_is_there(found: Callable[..., str]) -> None:
    model = nn.Conv2d(3, 1, 3)

    def one_pass(batch: Any) -> None:
        batch["picture"] = batch["picture"].float().permute(0, 3, 1, 2)
        model(batch["picture"]).mean()

    assert found(one_pass).startswith("picture: 4×32×32×3 ")


def test_each_field_of_a_row_has_a_table_of_its_own(found: Callable[..., str]) -> None:
    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(9, 4) for _ in range(5))

        def forward(self, fields: Any, weights: Any) -> Any:
            parts = [(table(fields[:, i, :]).sum(1).t() * weights[:, i]).t() for i, table in enumerate(self.tables)]
            return torch.stack(parts).sum((0, 2))

    model = Factors()

    def one_pass(batch: Any) -> None:
        fields, weights, clicks = batch
        nn.functional.binary_cross_entropy_with_logits(model(fields, weights), clicks)

    assert found(one_pass).startswith("4×5×1 int64 below 9, ")


def test_a_convolution_over_time_may_be_given_rows_of_steps(found: Callable[..., str]) -> None:
    class Turned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv1d(6, 2, 3)

        def forward(self, steps: Any) -> Any:
            return self.layer(steps.permute(0, 2, 1)).mean((1, 2))

    model = Turned()

    def one_pass(batch: Any) -> None:
        nn.functional.mse_loss(model(batch[0]), batch[1])

    assert found(one_pass) == "4×16×6 float32, 4 float32"
