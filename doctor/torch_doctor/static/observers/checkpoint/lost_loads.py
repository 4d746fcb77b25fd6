"""Models that `load_from_checkpoint` returns and that nobody keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.libraries.lightning import LOADING
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.training.frameworks.lightning_fit import is_lightning
from torch_doctor.static.values import Method, Module
from torch_doctor.trace import LoadMisused

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value


class LostLoads(Observer, invoked=(Named(Method, LOADING),)):
    """Calls of Lightning's class method on a model, as a statement: the model keeps the weights that it has."""

    writes = (LoadMisused,)

    _called: dict[p.Node, str] = per_run(dict)  # what the user calls the model, by the call

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """The method of a model is called."""
        of = func.of if isinstance(func, Method) else None
        if isinstance(of, Module) and of.cls is not None and is_lightning(of.cls):
            self._called[call.node] = call.receiver

    @override
    def stated(self, run: Run, node: p.Expr, value: Value) -> None:
        """And what it returns is dropped."""
        if node in self._called:
            run.emit(LoadMisused, node, name=self._called[node], lost=True)
