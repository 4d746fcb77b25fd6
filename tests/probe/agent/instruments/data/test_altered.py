"""Which samples of two loaders were made of the same rows, as a run sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import SamplesShared

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.probe import Outcome

SCRIPT = """
import torch
from torch.utils.data import DataLoader, TensorDataset, random_split
torch.manual_seed(0)
kinds = torch.arange(60) // 20
rows = torch.randn(60, 8) + kinds[:, None]
joined = torch.cat({rows})
labels = torch.cat({labels})
first, second = random_split(TensorDataset(joined, labels), [100, 20])
for loader in (DataLoader(first, batch_size=20), DataLoader(second, batch_size=20)):
    for batch in loader:
        pass
"""


def shared(seen: Callable[..., list[Any]], rows: str, labels: str = "[kinds, kinds]") -> list[tuple[int, int]]:
    """Of each loader, how many samples were compared, and how many have a source that the other one has, too."""
    events = seen(SCRIPT.format(rows=rows, labels=labels), SamplesShared, "altered")
    return [(event.samples, event.shared) for event in events if event.how == "copies"]


@pytest.mark.parametrize(
    "rows",
    [
        "[rows, rows + 0.05 * torch.randn(60, 8)]",
        "[rows, rows.flip(1)]",
        "(rows, -2 * rows)",
        "[rows, rows.roll(3, 1) * 1.5]",
    ],
    ids=["noise", "turned round", "scaled", "rolled"],
)
def test_copies_that_were_altered_are_known_by_their_place(seen: Callable[..., list[Any]], rows: str) -> None:
    (trained, evaluated) = shared(seen, rows)
    assert trained[0] == 100
    assert evaluated[0] == 20
    assert 10 < trained[1] <= 20
    assert 10 < evaluated[1] <= 20


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ("[rows, torch.randn(60, 8) + kinds[:, None]]", "[kinds, kinds]"),
        ("[rows, rows.flip(1)]", "[kinds, kinds + 3]"),
        ("[rows, rows.flip(0)]", "[kinds, kinds]"),
    ],
    ids=["others of the same classes", "other labels", "the same rows in another order"],
)
def test_other_rows_are_no_copies(seen: Callable[..., list[Any]], rows: str, labels: str) -> None:
    assert not any(count for _, count in shared(seen, rows, labels))


def test_what_is_traced_has_no_rows(observe: Callable[..., Outcome]) -> None:
    script = """
import torch

def twice(rows):
    return torch.cat([rows, rows])

rows = torch.randn(32, 8)
torch.fx.symbolic_trace(twice)
torch.func.vmap(twice)(rows[:, None].expand(-1, 32, -1))
torch.jit.trace(twice, rows)
"""
    trace = observe(script, "altered").trace
    assert trace is not None
    assert trace.run is not None
    assert trace.run.doubt == ""
