"""Datasets that cannot read their data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, Subset

from torch_doctor.probe.agent.stand_ins.batches.datasets import FailedDatasets
from torch_doctor.probe.agent.stand_ins.source import Sources
from torch_doctor.probe.agent.stand_ins.told import Teller

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__)


class Anything:
    """Has every attribute, and each of these has one more."""

    def __getattr__(self, _: str) -> Anything:
        return Anything()


def datasets() -> FailedDatasets:
    return FailedDatasets(Sources(str(HERE.parent), str(HERE)), Teller(lambda *_, **__: None))


def test_a_part_fails_as_the_dataset_that_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dataset, "__init_subclass__", Dataset.__init_subclass__)
    known = datasets()
    known.install(torch)

    class Gone(Dataset[Any]):
        def __init__(self, error: Exception | None) -> None:
            if error is not None:
                raise error

    error = OSError("gone")
    assert known.failure(Subset(Subset(Gone(error), [0, 1]), [0])) is error
    assert known.failure(Subset(Subset(Gone(None), [0, 1]), [0])) is None


def test_what_is_made_up_or_holds_itself_comes_to_an_end() -> None:
    itself = Subset(Anything(), [0])  # type: ignore[arg-type, var-annotated]  # as a script may
    itself.dataset = itself
    assert datasets().failure(Anything()) is None
    assert datasets().failure(itself) is None
