"""Where the rows of a data set are, by what it keeps."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Pairs(Dataset):
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __len__(self):
            return len(self.x)

        def __getitem__(self, index):
            return self.x[index], self.y[index]

    gpu = torch.cuda.is_available()
    model = nn.Linear(4, 1)
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    if gpu:
        model.cuda()
        {move}
    for batch, target in DataLoader(Pairs(x, y), batch_size=8):
        model(batch) - (target.cuda() if gpu else target)
"""


@pytest.mark.parametrize(("move", "met"), [("x, y = x.cuda(), y.cuda()", 0), ("print(x)", 1)])
def test_rows_are_on_the_cpu_unless_the_data_set_keeps_what_was_moved(move: str, met: int) -> None:
    assert bool(said(SCRIPT.format(move=move), "a tensor on the CPU and others on the GPU")) is bool(met)
