"""Lists of LightningModules that hold what the model answered, from epoch to epoch: Lightning itself empties none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.libraries import lightning
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.observers.evaluation.tallies import forwards_in
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import (
    Call,
    ClassValue,
    Mapping,
    Method,
    Module,
    Sequence,
    Tool,
    Unknown,
    UnknownAttribute,
    Value,
    reachable,
)
from torch_doctor.trace import ADDED, BEGUN, READ, LoopKind, TallyUsed

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

_GROWING: Final = frozenset(("append", "extend"))
_CHANGING: Final = frozenset(("clear", "pop", "remove", "insert", "__delitem__"))


class KeptOutputs(
    Observer,
    called=(Named(Method, _GROWING | _CHANGING),),
    invoked=(Unknown, UnknownAttribute, Tool),
    read=(Module,),
):
    """Results of forwards that are appended to an attribute of a module, and when the list is read and emptied."""

    writes = (TallyUsed,)

    _lists: dict[int, Sequence] = per_run(dict)
    _safe: dict[ClassValue, bool] = per_run(dict)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """`self.outputs.append(scores)`, and `self.outputs.clear()`."""
        of = func.of if isinstance(func, Method) else None
        place = call.node.func if isinstance(call.node, p.Call) else None
        if not isinstance(func, Method) or not isinstance(of, Sequence) or of.kind != "list":
            return
        if func.name in _CHANGING:
            self._use(run, of, BEGUN, call.node)
        elif isinstance(place, p.Attribute) and call.args and of.born is not None:
            forwards = frozenset[int]().union(*map(forwards_in, _parts(run.resolve(call.args[0]))))
            target = place.value
            if forwards and isinstance(target, p.Attribute) and isinstance(target.value, p.Name):
                holder = run.resolve(run.evaluate(target.value))
                if isinstance(holder, Module) and holder.cls is not None and self._is_followed(holder.cls):
                    self._lists[of.id] = of
                    self._use(run, of, ADDED, call.node, forwards)

    @override
    def read(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        """`torch.cat(self.outputs)`, behind a loop over batches."""
        found = value.fields.get(name) if self._lists and isinstance(value, Module) else None
        if isinstance(found, Sequence) and not any(
            scope.loop_kind is LoopKind.BATCHES for scope in run.scope.iterations()
        ):
            self._use(run, found, READ, node)

    @override
    def item_set(self, run: Run, holder: Value, key: Value, value: Value, node: p.Node) -> None:
        """`self.outputs[:] = []`."""
        if isinstance(holder, Sequence):
            self._use(run, holder, BEGUN, node)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Somebody out of sight gets the list, and may empty it."""
        for each in reachable(call.values) if self._lists else ():
            if isinstance(each, Sequence):
                self._use(run, each, BEGUN, call.node)

    def _use(self, run: Run, of: Sequence, how: str, node: p.Node, forwards: frozenset[int] = frozenset()) -> None:
        if of.id in self._lists:
            run.emit(TallyUsed, node, how=how, tally=of.id, class_name=of.kind, built=of.born, forwards=forwards)

    def _is_followed(self, cls: ClassValue) -> bool:
        """Whether it is a class for Lightning, and nothing else out of sight, that deletes no items by a statement."""
        if cls not in self._safe:
            classes = [each.node for each in cls.mro() if isinstance(each, ClassValue)]
            functions = (part.function for node in classes for part in node.body if isinstance(part, p.Define))
            deletes = any(isinstance(node, p.Delete) for each in functions for node in walk(each.body))
            self._safe[cls] = {canonical(name) for name in cls.libraries()} == lightning.MODULES and not deletes
        return self._safe[cls]


def _parts(value: Value) -> tuple[Value, ...]:
    """A value, or what a dict or tuple holds."""
    if isinstance(value, Mapping):
        return tuple(each for each in value.fields.values() if isinstance(each, Value))
    return value.content.all() if isinstance(value, Sequence) else (value,)
