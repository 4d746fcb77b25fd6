"""What puts things in random order, and which data sets are built with that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import data
from torch_doctor.static.training import workers
from torch_doctor.static.values import Call, Fact, Instance
from torch_doctor.trace import Reordered

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


@library_family(data.draws, stage=Stage.NOTE)
def drawn(run: Run, name: str, call: Call) -> None:
    """Note that a library's function draws random numbers, and whether it puts something in random order."""
    drawing = run.of(workers.Drawing)
    drawing.calls += 1
    if drawing.source is not None:
        drawing.source.library(run, name, call.node)
    if not name.startswith("random."):  # which gives one number at a time, and no rows
        drawing.reorders += 1
    if name in data.REORDERING:
        reordered(run, call.node)


def reordered(run: Run, node: p.Node) -> None:
    """Note that something is put in random order."""
    run.of(workers.Drawing).reorders += 1
    if not run.modules_called:
        run.emit(Reordered, node)


def remember_arguments(run: Run, thing: Instance, call: Call, before: tuple[int, int]) -> None:
    """Keep what an object of a project class was built with, and whether its constructor drew random numbers."""
    thing.facts[Fact.ARGUMENTS] = (call.args, call.keywords)
    drawing = run.of(workers.Drawing)
    thing.facts[Fact.DREW] = drawing.calls > before[0] or drawing.reorders > before[1]
    thing.facts[Fact.REORDERED] = drawing.reorders > before[1]
