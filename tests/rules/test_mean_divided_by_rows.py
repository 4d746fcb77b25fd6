from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import (
    Averaged,
    BatchTaken,
    DatasetBuilt,
    LoaderBuilt,
    LoopEntered,
    LoopKind,
    Multiplied,
    Site,
    Summed,
)
from torch_doctor_rules.evaluation.mean_divided_by_rows import MeanDividedByRows

if TYPE_CHECKING:
    from .conftest import Script

DIVISION = "total / len(dataset)"


def epoch(script: Script, *, batch: int | None = 16, length: int = 7, by_rows: bool = False) -> Averaged:
    """A mean is added up for each batch and divided by what has this number, or by a count of rows."""
    script.add(LoaderBuilt, "DataLoader(dataset)", loader=1, dataset=7, batch=batch)
    sums: list[Summed] = []
    counts: list[Summed] = []
    for _ in script.loop():
        script.add(BatchTaken, "for x, y in loader", loader=1, name="loader")
        mean = script.loss(script.forward(script.model()))
        means = frozenset((mean.index,))
        sums.append(script.add(Summed, "total += loss.item()", holder="total", means=means))
        counts.append(script.add(Summed, "seen += x.size(0)", holder="seen", rows=by_rows))
    return script.add(
        Averaged,
        DIVISION,
        name=DIVISION,
        sums=frozenset(event.index for event in sums),
        length=0 if by_rows else length,
        by=frozenset(event.index for event in counts) if by_rows else frozenset(),
        by_site=Site("train.py", 40, 9, 40, 21),
    )


@pytest.mark.parametrize("by_rows", [False, True])
def test_the_rows_are_no_divisor_for_means_of_batches(script: Script, *, by_rows: bool) -> None:
    epoch(script, by_rows=by_rows)
    assert script.found(MeanDividedByRows) == [DIVISION]


def test_the_fix_divides_by_the_number_of_batches(script: Script) -> None:
    average = epoch(script)
    [finding] = script.findings(MeanDividedByRows)
    assert [(edit.site, edit.code) for edit in finding.edits] == [(average.by_site, "len(loader)")]  # type: ignore[union-attr]


def test_the_number_of_batches_is_right(script: Script) -> None:
    epoch(script, length=1)
    assert script.found(MeanDividedByRows) == []


def test_batches_of_one_row_are_as_many_as_rows(script: Script) -> None:
    epoch(script, batch=1)
    assert script.found(MeanDividedByRows) == []


def test_what_is_multiplied_may_have_been_multiplied_by_the_size_of_a_batch(script: Script) -> None:
    average = epoch(script)
    script.add(Multiplied, "average *= BATCH", sums=average.sums)
    assert script.found(MeanDividedByRows) == []


def validation(script: Script, *, whole: int = 1, rows: str = "test", length: int = 2) -> None:
    """What is added up for each batch of loader 1 is divided by what has this number: loader 2 trains, and reads data set 20."""
    for loader, name in ((1, rows), (2, "train")):
        script.add(DatasetBuilt, f"{name} set", dataset=10 * loader, rows=name)
        script.add(LoaderBuilt, f"DataLoader({name} set)", loader=loader, dataset=10 * loader)
    sums: set[int] = set()
    for turn in script.loop():
        if turn == 1:
            loop = {"loop": 1, "loop_kind": LoopKind.BATCHES, "over": "loader", "whole": whole}
            script.add(LoopEntered, "for x, y in loader", **loop)
        mean = script.loss(script.forward(script.model()))
        sums.add(script.add(Summed, "total += loss.item()", holder="total", means=frozenset((mean.index,))).index)
    script.add(Averaged, DIVISION, name=DIVISION, sums=frozenset(sums), length=length)


@pytest.mark.parametrize("length", [2, 20])
def test_another_loader_tells_nothing_of_how_many_batches_were_added(script: Script, length: int) -> None:
    validation(script, length=length)
    assert script.found(MeanDividedByRows) == [DIVISION]


def test_a_loader_of_the_same_rows_has_the_same_length(script: Script) -> None:
    validation(script, rows="train")
    assert script.found(MeanDividedByRows) == []


def test_a_loop_that_may_end_before_may_have_the_length_of_another_loader(script: Script) -> None:
    validation(script, whole=0)
    assert script.found(MeanDividedByRows) == []
