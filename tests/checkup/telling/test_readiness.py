"""What a readiness note says at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.checkup.conftest import TRAINING
from tests.checkup.telling.conftest import checkup, rung
from torch_doctor.checkup.outcome import RUNGS, Checkup
from torch_doctor.checkup.telling.note import note
from torch_doctor.checkup.telling.readiness import glance

if TYPE_CHECKING:
    from tests.checkup.conftest import Examine

SAVES = TRAINING + "torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, 'last.pt')\n"
AUGMENTED = """
class Rows(TensorDataset):
    transform = staticmethod(torch.nn.functional.dropout)

x = torch"""


def test_a_script_at_a_glance(examine: Examine) -> None:
    script = SAVES.replace("x = torch", AUGMENTED, 1).replace("TensorDataset(x[:192]", "Rows(x[:192]")
    found = dict(glance(examine(script, "baseline", "receipt", verdicts=True).checkup))
    assert found["Model"] == "Sequential, 451 parameters"
    assert found["Loss"] == "cross_entropy"
    assert found["Optimizer"].startswith("Adam(lr=0.01")
    assert found["Data"] == (
        "train_loader: 192 rows of Rows, batches of 16; val_loader: 64 rows of TensorDataset, batches of 16"
    )
    assert found["Device"] == "cpu"
    assert found["Validation"] == (
        "val_loader has sampler SequentialSampler instead of RandomSampler, transforms none instead of dropout in train_loader"
    )
    assert found["Resuming"].endswith("saves: model, optimizer")


def test_what_nobody_measured_is_not_known() -> None:
    found = dict(glance(Checkup("train.py", [], "", [])))
    assert found["Model"] == found["Loss"] == found["Data"] == "not known"
    assert found["Resuming"] == "no `torch.save` was seen"


def test_the_two_greatest_risks_come_first() -> None:
    text = note(checkup(*(rung(name, "failed") for name in RUNGS)))
    top = text.partition("## Evidence")[0]
    assert "- **Risk 1**: **Inspect** failed" in top
    assert "- **Risk 2**: **Simple baseline** failed" in top
    assert "Risk 3" not in text
