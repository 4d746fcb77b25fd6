"""Comparisons of figures with the best one so far: which way the figures get better, and which ones are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.domains.merits import Merits
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.program.records import ORDER, Record, loads, never, record
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.merits import METRICS
from torch_doctor.static.training.data.arrays import METHOD
from torch_doctor.static.values import (
    Const,
    Content,
    Default,
    FunctionValue,
    Instance,
    Lib,
    Mapping,
    Method,
    Number,
    Plain,
    Sequence,
    Tensor,
    Tool,
)
from torch_doctor.static.values.symbols import UNTOLD
from torch_doctor.trace import HIGHER, LOWER, BestCompared

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.domains.merits.merit import Merit
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_READS: Final = "compute"
_ARITHMETIC: Final = ("+", "-", "*", "/", "//", "**", "&")
_CHOOSING: Final = {
    "max": HIGHER,
    "argmax": HIGHER,
    "nanargmax": HIGHER,
    "min": LOWER,
    "argmin": LOWER,
    "nanargmin": LOWER,
}


class BestFigures(Observer, called=(Lib, Method, Plain), computed=frozenset((*_ARITHMETIC, *ORDER, "!="))):
    """Follows numbers that are computed of figures, to comparisons that keep a model or the best figure so far."""

    writes = (BestCompared,)

    _records: dict[p.Node, tuple[Record | None, Record | None, Record | None]] = per_run(dict)
    _constant: dict[p.Node, int] = per_run(dict)  # how often the best so far was a number that the source gives

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Remember what numbers and arrays are computed of."""
        if isinstance(result, Plain):
            run.of(Merits).made.setdefault(result.symbol, _made_by(func, call))
        self._chosen(run, func, call)

    def _chosen(self, run: Run, func: Value, call: Call) -> None:
        """`max(kept, key=...)`, `np.argmax(losses)`: the best of several decides which weights are loaded."""
        name = func.name.rpartition(".")[2] if isinstance(func, (Lib, Method)) else ""
        of = func.of if isinstance(func, Method) else call.args[0] if len(call.args) == 1 else None
        if name not in _CHOOSING or of is None or not isinstance(call.node, p.Call):
            return
        if not isinstance(of, (Sequence, Tensor, Plain)):
            return
        key = call.keywords.get("key")
        figures = _items(of, key) if isinstance(of, Sequence) else of
        merit = None if figures is None else run.ask(Merits, figures)
        if figures is not None and merit is not None and merit.figure and loads(self._body(run), call.node):
            by, of_each = call.node.func, None if key is None else _value(key)
            run.emit(
                BestCompared,
                call.node,
                kept=_CHOOSING[name],
                name=run.text(of_each if of_each is not None else [*call.node.args, by][0]),
                by=run.text(by),
                by_at=run.site(by),
                at_once=True,
                forwards=run.of(Merits).forwards(figures),
                better=merit.role,
            )

    @staticmethod
    def _body(run: Run) -> tuple[p.Node, ...]:
        """The statements of the function that is executed, or of the file."""
        return run.stack[-1].node.body if run.stack else run.frame.unit.program.body

    @override
    def computed(self, run: Run, op: str, operands: tuple[Value, ...], node: p.Node) -> None:
        """Remember sums that are computed with, and look at comparisons."""
        if op in ORDER and isinstance(node, p.Compare):
            self._compared(run, operands, node)
        elif op == "!=":
            run.of(Merits).unequal.add((operands[0], operands[1]))
        for each in operands:
            if isinstance(each, Number) and each.flow.sums and each.symbol[0] == UNTOLD:
                run.of(Merits).totals[each.symbol] = each

    def _compared(self, run: Run, operands: tuple[Value, ...], node: p.Compare) -> None:
        if not any(merit is not None and merit.figure for merit in (run.ask(Merits, each) for each in operands)):
            return
        if node not in self._records:
            body = self._body(run)
            self._records[node] = (
                record(body, node),
                never(body, node, figure_first=True),
                never(body, node, figure_first=False),
            )
        known, *never_renewed = self._records[node]
        for found in (known,) if known is not None else never_renewed:
            figure, best = operands if found is None or found.figure_first else operands[::-1]
            if found is None or (not found.renewed and not self._stays(node, best)):
                continue
            merit = run.ask(Merits, figure)
            if merit is not None and merit.figure:
                self._write(run, node, found, merit, figure, best)

    def _stays(self, node: p.Node, best: Value) -> bool:
        """Whether the best so far was a number that the source gives now and before."""
        if not isinstance(best, Const) or isinstance(best, Default):
            self._constant[node] = -1
        elif self._constant.get(node, 0) >= 0:
            self._constant[node] = self._constant.get(node, 0) + 1
        return self._constant.get(node, 0) > 1

    def _write(self, run: Run, node: p.Compare, found: Record, merit: Merit, figure: Value, best: Value) -> None:
        sides = (node.left, node.right) if found.figure_first else (node.right, node.left)
        start = best.value if found.alone and isinstance(best, Const) and not isinstance(best, Default) else None
        bound = merit.low if merit.role == LOWER else merit.high
        run.emit(
            BestCompared,
            node,
            kept=HIGHER if found.larger else LOWER,
            name=run.text(sides[0]),
            best=run.text(sides[1]),
            better=merit.role,
            first=found.figure_first,
            strict=node.op in ("<", ">"),
            bound=bound if abs(bound) < float("inf") else None,
            start=float(start) if isinstance(start, (int, float)) else None,
            renewed=found.renewed,
            arm=tuple(map(run.site, found.arm)),
            loads=found.loads,
            waits=found.waits,
            forwards=run.of(Merits).forwards(figure),
            figure_at=run.site(sides[0]),
            by="" if found.extreme is None else run.text(found.extreme),
            by_at=None if found.extreme is None else run.site(found.extreme),
            started=None if found.start is None else run.site(found.start),
        )


def _made_by(func: Value, call: Call) -> tuple[str, tuple[Value, ...]]:
    """The name of what is called, and what it is given, the object of a method first; a metric object, by its class."""
    if isinstance(func, Method):
        if isinstance(func.of, Tool) and func.name == _READS and canonical(func.of.name) in METRICS:
            return canonical(func.of.name), call.args
        return func.name, (func.of, *call.args)
    if isinstance(func, Plain) and func.size is not None and func.size.name == METHOD and func.size.args:
        return str(func.size.of), (func.size.args[0], *call.args)
    if isinstance(func, Plain) and func.symbol[0] == "." and isinstance(func.symbol[1], tuple):
        return func.symbol[2], (Plain(func.symbol[1]), *call.args)
    return canonical(func.name) if isinstance(func, Lib) else "", call.args


def _items(several: Sequence, key: Value | None) -> Sequence | None:
    """What the items of a list are compared by: themselves, their first ones, or what a `lambda` takes of them."""
    items = several.content.all()
    if key is not None:
        taken = _taken(key)
        found = [None if taken is None else taken(item) for item in items]
    else:
        found = [each.content.items[0] if isinstance(each, Sequence) and each.content.items else each for each in items]
    known = tuple(each for each in found if each is not None)
    return Sequence("list", Content(known)) if known and len(known) == len(items) else None


def _value(key: Value) -> p.Expr | None:
    """What a `lambda` returns."""
    node = key.node if isinstance(key, FunctionValue) else None
    body = node.body[-1] if node is not None and len(node.body) == 1 else None
    return body.value if isinstance(body, p.Return) else None


def _taken(key: Value) -> Callable[[Value], Value | None] | None:
    """What a `lambda` of one parameter takes of it: an item or an attribute that is written out; None for any other."""
    value = _value(key)
    if isinstance(value, p.Attribute):
        name = value.name
        return lambda item: item.fields.get(name) if isinstance(item, Instance) else None
    if not isinstance(value, p.Index) or not isinstance(value.key, p.Const) or not isinstance(value.value, p.Name):
        return None
    place = value.key.value

    def item_of(item: Value) -> Value | None:
        if isinstance(item, Mapping):
            return item.fields.get(("key", place))
        known = item.content.items if isinstance(item, Sequence) and item.content.rest is None else ()
        return known[place] if isinstance(place, int) and -len(known) <= place < len(known) else None

    return item_of
