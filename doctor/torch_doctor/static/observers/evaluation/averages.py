"""Sums over steps that are divided or multiplied by something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import periodic
from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.training.sums import Turns, is_batch_size
from torch_doctor.static.values import Const, Making, Plain, Tensor, constant
from torch_doctor.trace import Averaged, Multiplied

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value
    from torch_doctor.trace import Site

_SCALES = (1, 100)
"""Factors that an average keeps its meaning with."""


class Averages(Observer, computed=("*", "/")):
    """Divisions of a sum over batches: by the number of batches, or by something else; and what multiplies such a sum."""

    writes = (Averaged, Multiplied)

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`sum / something`, and `sum * something`."""
        if op == "*":
            self._multiplied(run, operands, node)
            return
        if len(operands) < 2 or not (operands[0].flow.sums or operands[0].flow.means):
            return
        by = operands[1]
        symbol = by.symbol if isinstance(by, Plain) else ("", None)
        length = symbol[1] if symbol[0] == "len" and isinstance(symbol[1], int) else 0
        index_of = 0
        if not length and run.of(Turns).loaders:
            length = run.of(Turns).loaders.get(periodic.counted_turn(symbol), 0)
            index_of = run.of(Turns).loaders.get(periodic.counted_turn(symbol, behind=1), 0)
        added, means = operands[0].flow.sums, operands[0].flow.means
        if added or length:
            run.emit(
                Averaged,
                node,
                name=run.text(node),
                sums=added,
                length=length,
                index_of=index_of,
                number=number if isinstance(number := constant(by), (int, float)) else None,
                by=by.flow.sums,
                means=means,
                by_site=_divisor(run, node),
                by_batch=is_batch_size(by),
                again=_is_quotient(operands[0]),
            )

    def _multiplied(self, run: Run, operands: tuple[Value, ...], node: p.Node) -> None:
        """A factor of 100 makes percents, and no other number of it."""
        found = frozenset[int]().union(*(each.flow.sums for each in operands))
        if found and not any(isinstance(each, Const) and each.value in _SCALES for each in operands):
            run.emit(Multiplied, node, sums=found)


def _is_quotient(value: Value) -> bool:
    """Whether a number was divided before, perhaps in percent."""
    symbol = value.symbol if isinstance(value, Plain) else ()
    while symbol and symbol[0] == "*":
        symbol = next((part for part in symbol[1:] if part[0] != "const"), ())
    made = value.meta if isinstance(value, Tensor) else None
    return symbol[:1] == ("/",) or (isinstance(made, Making) and made.name == "/")


def _divisor(run: Run, node: p.Node) -> Site | None:
    """Where the divisor is written."""
    if isinstance(node, p.Operation):
        return run.site(node.operands[1])
    return run.site(node.value) if isinstance(node, p.Augment) else None
