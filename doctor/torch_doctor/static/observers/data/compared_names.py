"""Predicted classes that are compared with numbers in the names of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import classes
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.values import Plain, Tensor
from torch_doctor.trace import NAMES, Kind, LabelsCompared

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value


class ComparedNames(Observer, computed="=="):
    """Notes comparisons of what a model answers with such a number."""

    writes = (LabelsCompared,)

    @override
    def computed(self, run: Run, _: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Two values are compared."""
        answers = [
            each for each in operands if isinstance(each, Tensor) and each.kind is Kind.LABELS and each.flow.forwards
        ]
        numbers = [each for each in operands if isinstance(each, Plain)]
        if len(answers) != 1 or len(numbers) != 1:
            return
        for event in classes.orders(run, numbers[0].flow.rows, NAMES):
            side = operands.index(numbers[0])
            name = run.text((node.left, node.right)[side]) if isinstance(node, p.Compare) else "a number"
            run.emit(LabelsCompared, node, forward=max(answers[0].flow.forwards), how=event.how, name=name)
