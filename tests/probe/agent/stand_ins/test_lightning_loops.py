"""Lightning's own loops end as the script's do, and evaluate before that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.frameworks("lightning"), pytest.mark.usefixtures("farm")]

TRAIN = """
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)

    def training_step(self, batch, batch_idx):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        print("validated", batch_idx)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        steps = self.trainer.estimated_stepping_batches
        return [optimizer], [torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps)]


rows = TensorDataset(torch.randn(4096, 4), torch.randint(3, (4096,)))
loader = DataLoader(rows, batch_size=8, shuffle=True)
L.Trainer(max_epochs=5, logger=False, enable_checkpointing=False, OPTIONS).fit(Net(), loader, DataLoader(rows, batch_size=8))
"""


@pytest.mark.parametrize(
    ("options", "updates"),
    [
        ("num_sanity_val_steps=0", 6),
        ("accumulate_grad_batches=4", 6),
        ("val_check_interval=0.25", 8),
        ("val_check_interval=100", 128),
        ("limit_train_batches=2, min_epochs=4", 4),
    ],
)
def test_a_fit_ends_early_and_evaluates(options: str, updates: int, run: Any, write: Callable[..., Any]) -> None:
    write("train.py", TRAIN.replace("OPTIONS", options))
    err = run("scan", "train.py", "--probe", "--isolated", "--probe-output").err
    assert f"reached {updates} optimizer steps" in err
    assert "validated 15" in err
    assert "validated 16" not in err
    assert "was stopped" not in err
