"""What a loop goes through that comes from out of sight: its name says whether it gives batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import traces
from torch_doctor.scan.options import Options
from torch_doctor.trace import BatchTaken

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import lab\nimport torch\nfrom lab import load, things, val_loader\n\nmodel = torch.nn.Linear(4, 2)\n"


def taken(tmp_path: Path, source: str) -> list[BatchTaken]:
    (tmp_path / "train.py").write_text(f"{HEAD}{source}", encoding="utf-8")
    found, _ = traces(Options(paths=(tmp_path,), rules=()))
    return [event for trace in found for event in trace.of(BatchTaken)]


@pytest.mark.parametrize(
    "source",
    [
        "for x in val_loader:\n    model(x)\n",
        "train_dl, val_dl = load()\nfor x in val_dl:\n    model(x)\n",
        "for x in lab.get_loader('dev'):\n    model(x)\n",
        "loaders = lab.make_loaders()\nfor x in loaders['val']:\n    model(x)\n",
        "data = lab.Data()\nfor i, x in enumerate(data.test_loader):\n    model(x)\n",
        "for i, x in enumerate(lab.batches('test')):\n    model(x)\n",
    ],
)
def test_what_is_called_a_loader_gives_batches(tmp_path: Path, source: str) -> None:
    assert taken(tmp_path, source)


def test_what_has_another_name_may_be_anything(tmp_path: Path) -> None:
    assert not taken(tmp_path, "for x in things:\n    model(x)\n")


def test_a_loader_under_a_key_is_the_same_one_whenever_it_is_asked_for(tmp_path: Path) -> None:
    keys = ("train", "val", "train")
    loops = "".join(f"for x in loaders['{key}']:\n    model(x)\n" for key in keys)
    first, *_, last = found = taken(tmp_path, f"loaders = lab.make_loaders()\n{loops}")
    assert first.loader == last.loader
    assert len({event.loader for event in found}) == len(set(keys))
