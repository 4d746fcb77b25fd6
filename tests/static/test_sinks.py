"""Values that go to sinks which want numbers, as the static witness sees it: no such library is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.static.tables.sinks import BY_PACKAGE, SINKS
from torch_doctor.trace import Logged

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import torch
from torch import nn
{setting_up}
model = nn.Linear(4, 1)
for batch in torch.randn(8, 16, 4):
    loss = model(batch).pow(2).mean()
    loss.backward()
    {logging}
"""


def logged(setting_up: str, logging: str, folder: Path) -> list[Logged]:
    """What is logged in the first iteration."""
    path = folder / "train.py"
    path.write_text(SCRIPT.format(setting_up=setting_up, logging=logging), encoding="utf-8")
    found, _ = traces(Options(paths=(path,), rules=()))
    events = [event for trace in found for event in trace.of(Logged)]
    return [event for event in events if event.scope is events[0].scope]


@pytest.mark.parametrize(
    ("setting_up", "logging"),
    [
        ("from timm.utils import AverageMeter\nmeter = AverageMeter()", "meter.update(loss, 16)"),
        ("from torchnet import meter\nlosses = meter.AverageValueMeter()", "losses.add(loss)"),
        ("import pkbar\nbar = pkbar.Kbar(target=8)", "bar.update(1, values=[('loss', loss)])"),
    ],
)
def test_a_meter_of_a_library_keeps_what_it_is_given(setting_up: str, logging: str, tmp_path: Path) -> None:
    (event,) = logged(setting_up, logging, tmp_path)
    assert (event.keeps, event.needs_number, event.value.name) == (True, False, "loss")


@pytest.mark.parametrize(
    ("logging", "column"),
    [
        ("bar.set_postfix(loss=loss)", 26),
        ("bar.set_postfix({'step': 1, 'loss': loss})", 41),
        ("bar.set_postfix(**{'loss': loss})", 32),
    ],
)
def test_a_bar_is_told_where_the_call_names_the_value(logging: str, column: int, tmp_path: Path) -> None:
    (event,) = logged("from tqdm.auto import tqdm\nbar = tqdm(total=8)", logging, tmp_path)
    assert event.needs_number
    assert (event.name, event.site.column) == ("bar.set_postfix", column)


def test_a_tracker_that_takes_tensors_neither_keeps_them_nor_needs_a_number(tmp_path: Path) -> None:
    setting_up = "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()"
    (event,) = logged(setting_up, "writer.add_scalar('loss', loss)", tmp_path)
    assert (event.keeps, event.needs_number) == (False, False)


@pytest.mark.parametrize("name", sorted(SINKS))
def test_a_package_has_one_use_for_each_name(name: str) -> None:
    assert BY_PACKAGE[name.partition(".")[0]][name.rpartition(".")[2]] == SINKS[name]
