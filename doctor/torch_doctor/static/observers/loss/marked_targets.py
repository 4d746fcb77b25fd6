"""Targets of losses that mark any number of classes of a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains.marking import Marked, Numbers
from torch_doctor.static.measuring import measured
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.values import Making, Tensor, Value
from torch_doctor.trace import ClassesMarked

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class MarkedTargets(Observer):
    """Losses whose targets come from a loader, and are 0 or 1 for each class by itself."""

    writes = (ClassesMarked,)

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss gets its input and its target."""
        target = values[1]
        shape = measured(target).shape
        several = shape is None or len(shape) > 1
        if several and run.ask(Marked, target) is Numbers.MARKS and _is_of_batch(target):
            run.emit(ClassesMarked, node)


def _is_of_batch(value: Value | None) -> bool:
    """Whether a tensor is the batch of a loader, converted at most."""
    while isinstance(value, Tensor) and isinstance(made := value.meta, Making):
        if made.name == "batch":
            return True
        value = made.args[0] if made.args else None
    return False
