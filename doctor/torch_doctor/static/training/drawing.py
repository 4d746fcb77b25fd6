"""Random numbers: what draws them and puts things in random order, and which data sets are built with that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import data
from torch_doctor.static.values import Call, Fact, Instance, Plain, fresh_symbol, latest
from torch_doctor.trace import Reordered

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class Drawing(Knowledge):
    """How often random numbers were drawn."""

    def __init__(self) -> None:
        self.calls = 0  # calls that draw random numbers
        self.reorders = 0  # and those that draw many, or reorder


GENERATOR = "generator"
"""Begins the symbol of a generator of random numbers: where it was made, the newest object then, its number, its text."""
GENERATORS = frozenset(("numpy.random.default_rng", "numpy.random.RandomState", "random.Random"))


@library_family(GENERATORS, stage=Stage.ADAPTER)
def generator(run: Run, _: str, call: Call) -> Plain:
    """A generator of its own."""
    return Plain((GENERATOR, run.site(call.node), latest(), fresh_symbol(), run.text(call.node)))


@library_family(data.draws, stage=Stage.NOTE)
def drawn(run: Run, name: str, call: Call) -> None:
    """Note that a library's function draws random numbers, and whether it puts something in random order."""
    drawing = run.of(Drawing)
    drawing.calls += 1
    if not name.startswith("random."):  # which gives one number at a time, and no rows
        drawing.reorders += 1
    if name in data.REORDERING:
        reordered(run, call.node)


def reordered(run: Run, node: p.Node) -> None:
    """Note that something is put in random order."""
    run.of(Drawing).reorders += 1
    if not run.modules_called:
        run.emit(Reordered, node)


def remember_arguments(run: Run, thing: Instance, call: Call, before: tuple[int, int]) -> None:
    """Keep what an object of a project class was built with, and whether its constructor drew random numbers."""
    thing.facts[Fact.ARGUMENTS] = (call.args, call.keywords)
    drawing = run.of(Drawing)
    thing.facts[Fact.DREW] = drawing.calls > before[0] or drawing.reorders > before[1]
    thing.facts[Fact.REORDERED] = drawing.reorders > before[1]
