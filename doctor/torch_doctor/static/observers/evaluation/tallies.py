"""Objects of the project that add up what models answer: when they add, begin anew, and are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.values import (
    ClassValue,
    Instance,
    Lib,
    Method,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    UnknownAttribute,
    Value,
    reachable,
    shapes,
)
from torch_doctor.trace import ADDED, BEGUN, READ, LoopKind, TallyUsed

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call


_GROWING: Final = frozenset(("append", "extend"))
_PRINT: Final = "builtins.print"
LOOKING: Final = ("builtins.", "torch.", "numpy.", "math.")
"""Begins the names of functions that leave the objects that they are given as they are."""


class Tallies(
    Observer,
    called=(Named(Method, _GROWING),),
    invoked=(Unknown, UnknownAttribute, Tool, Named(Lib, lambda name: name == _PRINT or not name.startswith(LOOKING))),
    computed="+",
    read=(Instance,),
):
    """Attributes of project objects that results of forwards are added to, and what else happens to those objects."""

    writes = (TallyUsed,)

    _added: dict[int, dict[str, Instance]] = per_run(dict)  # by the object's number, and by attribute
    _resets: dict[ClassValue, bool] = per_run(dict)
    _sums: dict[int, Instance] = per_run(
        dict
    )  # whose attributes were read in a loop over batches, by what was added to them

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """`self.total += value`, and `self.table[i, j] += 1`."""
        if isinstance(node, p.Augment) and run.loop_depth:
            target = node.target.value if isinstance(node.target, p.Index) else node.target
            self._add(run, target, operands[-1], node, unknown=isinstance(operands[0], Unknown))

    def _add(
        self, run: Run, target: p.Expr, value: Value, node: p.Node, *, unknown: bool = False, listed: bool = False
    ) -> None:
        if not isinstance(target, p.Attribute) or not isinstance(target.value, p.Name):
            return
        forwards = forwards_in(value) or _given(run)
        holder = run.resolve(run.evaluate(target.value)) if forwards else None
        if isinstance(holder, Instance) and holder.born is not None and self._can_reset(holder.cls):
            self._added.setdefault(holder.id, {})[target.name] = holder
            if unknown:
                self._use(run, holder, BEGUN, node)
            self._use(run, holder, ADDED, node, name=run.text(target), forwards=forwards, listed=listed)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """`self.total = 0`."""
        if (
            isinstance(holder, Instance)
            and target.name in self._added.get(holder.id, ())
            and not isinstance(node, p.Augment)
        ):
            self._use(run, holder, BEGUN, node)

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """`self.table.zero_()`."""
        if isinstance(call.node, p.Augment):
            return
        for fields in self._added.values():
            for name, holder in fields.items():
                if holder.fields.get(name) is value:
                    self._use(run, holder, BEGUN, call.node)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """`self.scores.append(value)`."""
        place = call.node.func if isinstance(call.node, p.Call) else None
        grows = isinstance(func, Method) and isinstance(func.of, Sequence) and call.args and run.loop_depth
        if grows and isinstance(place, p.Attribute):
            self._add(run, place.value, call.args[0], call.node, listed=True)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Somebody out of sight gets the object, also through `map`, and it may begin anew there; or a result is printed."""
        if isinstance(func, Lib) and func.name == _PRINT:
            self.shown(run, call.values, call.node)
        elif self._added:
            of = getattr(func, "of", None)
            for value in reachable((*call.values, *([of] if isinstance(of, Value) else []))):
                if isinstance(value, Instance) and value.id in self._added:
                    self._use(run, value, BEGUN, call.node)

    @override
    def read(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        """`meter.average`, after a loop over batches."""
        if isinstance(value, Instance) and value.id in self._added:
            if not _among_batches(run):
                self._use(run, value, READ, node)
            elif isinstance(found := value.fields.get(name), Plain):
                self._sums.update(dict.fromkeys(found.flow.sums, value))

    @override
    def shown(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """`print(score)`, behind a loop over batches of which the last has read the score."""
        if self._sums and not _among_batches(run):
            sums = frozenset[int]().union(*(each.flow.sums for each in reachable(values) if isinstance(each, Plain)))
            for holder in {each.id: each for index in sums if (each := self._sums.get(index))}.values():
                self._use(run, holder, READ, node)

    def _use(self, run: Run, holder: Instance, how: str, node: p.Node, **added: Any) -> None:
        of = {"tally": holder.id, "class_name": holder.cls.name, "built": holder.born}
        run.emit(TallyUsed, node, how=how, **of, **added)

    def _can_reset(self, cls: ClassValue) -> bool:
        """Whether all methods are in sight, and one but the constructor only assigns attributes of the object."""
        if cls not in self._resets:
            classes = (each.node for each in cls.mro() if isinstance(each, ClassValue))
            functions = (part.function for node in classes for part in node.body if isinstance(part, p.Define))
            found = any(_resets(each) for each in functions if each.name != "__init__")
            self._resets[cls] = found and not cls.opaque_base()
        return self._resets[cls]


def _resets(function: p.Function) -> bool:
    """Whether a method only assigns attributes of the object, and adds to none."""
    own = function.parameters[0].name if function.parameters else ""
    assigned = [node for node in function.body if isinstance(node, p.Assign)]
    targets = [part for node in assigned for target in node.targets for part in _parts(target)]
    to_own = [each for each in targets if isinstance(each, p.Attribute) and _is(each.value, own)]
    grows = any(isinstance(node, p.Augment) for node in walk(function.body))
    return bool(to_own) and len(to_own) == len(targets) and not grows


def _among_batches(run: Run) -> bool:
    return any(scope.loop_kind is LoopKind.BATCHES for scope in run.scope.iterations())


def _parts(target: p.Expr) -> tuple[p.Expr, ...]:
    return tuple(target.items) if isinstance(target, p.Display) else (target,)


def _is(expression: p.Expr, name: str) -> bool:
    return isinstance(expression, p.Name) and expression.id == name


def _given(run: Run) -> frozenset[int]:
    """The forwards whose results the method that is being executed was given."""
    if not run.stack:
        return frozenset()
    names = (each.name for each in run.stack[-1].node.parameters)
    given = (run.frame.fields.get(name) for name in names)
    return frozenset[int]().union(*(forwards_in(value) for value in given if value is not None))


def forwards_in(value: Value) -> frozenset[int]:
    """The forwards whose results a tensor holds, or a number was read from."""
    read = shapes.read_from(value.size) if isinstance(value, Plain) else None
    of = value if read is None else read
    return of.flow.forwards if isinstance(of, (Tensor, Plain)) else frozenset()
