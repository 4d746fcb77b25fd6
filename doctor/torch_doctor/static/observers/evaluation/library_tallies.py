"""Metric objects of libraries, which add up what models answer until `reset` is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.libraries.lightning import OWN_LOGS
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.observers.evaluation.tallies import LOOKING, forwards_in
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import words
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.merits import adds_up
from torch_doctor.static.values import Lib, Method, Module, Tool, Unknown, UnknownAttribute, Value, leaves, reachable
from torch_doctor.trace import ADDED, BEGUN, LOGGED, READ, LoopKind, TallyUsed

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call

_ADDS: Final = frozenset(words("update forward __call__"))
_READS: Final = frozenset(words("compute result"))
_KEEPS: Final = frozenset(words("to cuda cpu float double half eval train requires_grad_ state_dict plot keys"))
"""Methods that leave what was added up as it is."""
_RESET: Final = "reset"


class LibraryTallies(
    Observer,
    invoked=(Unknown, UnknownAttribute, Tool, Method, Named(Lib, lambda name: not name.startswith(LOOKING))),
):
    """What happens to metric objects of libraries."""

    writes = (TallyUsed,)

    _metrics: dict[int, Tool] = per_run(dict)  # those that something was added to, by their numbers

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """A metric, or one of its methods, is called; or somebody gets it, or resets something that is not known."""
        of = func.of if isinstance(func, (Method, UnknownAttribute)) else func
        if isinstance(of, Tool) and adds_up(canonical(of.name)):
            self._used(run, of, func.name if isinstance(func, Method) else "__call__", call)
        elif not self._metrics:
            return
        elif isinstance(func, Method):
            if isinstance(of, Module) and func.name in OWN_LOGS:
                for each in call.values:
                    if isinstance(each, Tool) and each.id in self._metrics:
                        self._emit(run, each, LOGGED, call)
        elif isinstance(func, UnknownAttribute) and func.name == _RESET:
            self._begin(run, list(self._metrics.values()), call)
        else:
            given = reachable((*call.values, of))
            self._begin(run, [each for each in given if isinstance(each, Tool)], call)

    def _used(self, run: Run, metric: Tool, method: str, call: Call) -> None:
        batches = any(scope.loop_kind is LoopKind.BATCHES for scope in run.scope.iterations())
        if method in _ADDS:
            forwards = frozenset[int]().union(*map(forwards_in, leaves(*call.values)))
            if forwards and batches and metric.born is not None:
                self._metrics[metric.id] = metric
                self._emit(run, metric, ADDED, call, forwards)
        elif method in _READS:
            if metric.id in self._metrics and not batches:
                self._emit(run, metric, READ, call)
        elif method not in _KEEPS:
            self._begin(run, [metric], call)

    def _begin(self, run: Run, metrics: list[Tool], call: Call) -> None:
        """These are set back, or may be."""
        for each in metrics:
            if each.id in self._metrics:
                self._emit(run, each, BEGUN, call)

    def _emit(self, run: Run, metric: Tool, how: str, call: Call, forwards: frozenset[int] = frozenset()) -> None:
        of = {"tally": metric.id, "class_name": metric.name.rpartition(".")[2], "built": metric.born}
        run.emit(TallyUsed, call.node, how=how, name=call.name or metric.name, forwards=forwards, **of)
