"""Calls of modules with batch norm in training mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.training.module import batch_norms, written_forwards
from torch_doctor.trace import BatchNormsRan

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module


class BatchNorms(Observer):
    """Looks at what a whole module consists of when it is called, where autograd records."""

    writes = (BatchNormsRan,)

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """A whole module is called."""
        event = written_forwards.last(run)
        if run.modules_called or run.grad is False or event is None or event.module != module.id:
            return
        norms = batch_norms.of_own_rows(run, module)
        if norms:
            run.emit(BatchNormsRan, call.node, forward=event.index, norms=norms)
