"""Sums over steps that are divided by something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import periodic
from torch_doctor.static.observer import Observer
from torch_doctor.static.training.sums import Turns
from torch_doctor.static.values import Plain
from torch_doctor.trace import Averaged

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value


class Averages(Observer):
    """Divisions of a sum over batches: by the number of batches, or by something else."""

    writes = (Averaged,)

    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`sum / something`."""
        if op != "/" or len(operands) < 2 or not (operands[0].flow.sums or operands[0].flow.means):  # noqa: PLR2004 - two sides
            return
        by = operands[1]
        symbol = by.symbol if isinstance(by, Plain) else ("", None)
        length = symbol[1] if symbol[0] == "len" and isinstance(symbol[1], int) else 0
        if not length and run.of(Turns).loaders:
            length = run.of(Turns).loaders.get(periodic.counted_turn(symbol), 0)
        added, means = operands[0].flow.sums, operands[0].flow.means
        if added or length:
            run.emit(Averaged, node, name=run.text(node), sums=added, length=length, by=by.flow.sums, means=means)
