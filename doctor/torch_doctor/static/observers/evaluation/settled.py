"""Labels that are compared with predictions which are the same for every output of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.settled import Settled
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.values import Tensor
from torch_doctor.trace import SettledCompared, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_EQUAL: Final = frozenset(("==", "eq"))


class SettledPredictions(Observer, computed="==", made=_EQUAL):
    """Comparisons of such predictions with what a loader gave."""

    writes = (SettledCompared,)

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`predicted == labels`."""
        if op in _EQUAL:
            self._compared(run, operands, node)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """`predicted.eq(labels)`."""
        self._compared(run, call.args, call.node)

    def _compared(self, run: Run, operands: tuple[Value, ...], node: p.Node) -> None:
        sides = [value for value in operands if isinstance(value, Tensor)]
        answers = [value for value in sides if value.flow.forwards]
        labels = [value for value in sides if not value.flow.forwards and value.flow.source is Source.LOADER]
        if len(answers) == 1 and len(labels) == 1 and (number := run.ask(Settled, answers[0])) is not None:
            run.emit(SettledCompared, node, number=number, forwards=answers[0].flow.forwards)
