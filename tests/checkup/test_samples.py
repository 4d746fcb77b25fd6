"""Whether inputs of the data are part of a report."""

from __future__ import annotations

import csv
import io
import sys
from typing import TYPE_CHECKING

import click
import pytest

from tests.checkup.conftest import TRAINING
from torch_doctor.checkup import running
from torch_doctor.checkup.running import NO_SAMPLES, Wanted
from torch_doctor.checkup.telling.table import table
from torch_doctor.probing import Probing
from torch_doctor.scan import Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.checkup.conftest import Heard


def test_without_samples_the_worst_mistakes_have_no_inputs(write: Callable[..., Path], heard: Heard) -> None:
    path = write("train.py", TRAINING)
    scan = Options(paths=(path,), rules=(), probe=Probing(python=sys.executable))
    rungs = ("inspect", "small-subset", "errors")
    wanted = Wanted(
        scan=scan, script=path, shown=path.name, seconds=60, rungs=rungs, verdicts=False, every=True, samples=False
    )
    checked = running.checkup(wanted, heard).checkup
    plots = [plot for rung in checked.rungs for plot in rung.plots]
    assert plots
    assert not [plot.title for plot in plots if plot.kind in {"images", "texts"} or plot.private]
    rows = list(csv.DictReader(io.StringIO(table(checked))))
    assert rows
    assert all(row["sample"].startswith("val_loader.dataset[") and row["loss"] and not row["input"] for row in rows)
    assert NO_SAMPLES in checked.remarks


@pytest.mark.parametrize(
    ("ci", "options", "samples"), [("", (), True), ("1", (), False), ("1", ("--show-samples",), True)]
)
def test_samples_are_left_out_where_ci_is_set(
    run: Callable[..., object],
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    ci: str,
    options: tuple[str, ...],
    samples: bool,
) -> None:
    asked: list[Wanted] = []

    def examined(wanted: Wanted, *_: object) -> None:
        asked.append(wanted)
        message = "enough"
        raise click.UsageError(message)

    monkeypatch.setattr(running, "checkup", examined)
    monkeypatch.setenv("CI", ci)
    write("train.py", TRAINING)
    run("checkup", "train.py", "--isolated", "-q", *options)
    assert [each.samples for each in asked] == [samples]
