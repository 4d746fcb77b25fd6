"""Figures of models that become part of a text, or are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.merits import Merits
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.observers.evaluation.batch_scores import parts_of
from torch_doctor.static.tables.canonical import among
from torch_doctor.static.values import Const, Either, Lib, Method
from torch_doctor.trace import FigureShown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value


class ShownFigures(
    Observer, invoked=(Named(Lib, among({"builtins.print"})), Named(Method, ("format", "info"))), computed="%"
):
    """Writes which forwards the figures measure that are shown."""

    writes = (FigureShown,)

    @override
    def shown(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """`f"{accuracy:.2f}"`."""
        self._show(run, values, node)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """`print(accuracy)`, and `"{}".format(accuracy)`."""
        self._show(run, call.values, call.node)

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`"%.2f" % accuracy`."""
        if isinstance(operands[0], Const) and isinstance(operands[0].value, str):
            self._show(run, operands[1:], node)

    def _show(self, run: Run, values: Iterable[Value], node: p.Node) -> None:
        found: frozenset[int] = frozenset()
        for value in parts_of(values):
            options = [option for _, option in value.options] if isinstance(value, Either) else [value]
            merits = [run.ask(Merits, option) for option in options]
            if any(merit is not None and merit.figure for merit in merits):
                found |= run.of(Merits).forwards(value)
        if found:
            run.emit(FigureShown, node, name=run.text(node), forwards=found)
