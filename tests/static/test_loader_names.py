"""What a loader is called where its batches are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.scan import traces
from torch_doctor.scan.options import Options
from torch_doctor.trace import BatchTaken

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
from torch.utils.data import DataLoader, TensorDataset
from tqdm import trange

rows = DataLoader(TensorDataset(data), batch_size=4)
bar = trange(3)
for turn, (x,) in zip(bar, rows):
    print(x)
"""


def test_a_loader_beside_a_progress_bar_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    found, _ = traces(Options(paths=(tmp_path,), rules=()))
    assert {event.name for trace in found for event in trace.of(BatchTaken)} == {"rows"}
