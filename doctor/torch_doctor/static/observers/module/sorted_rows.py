"""Samples that a forward sorts by length for packing, and of which nothing restores the order before a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.values import FunctionValue, Tensor
from torch_doctor.trace import RowsMixed, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module, Value
    from torch_doctor.trace import Site

PACKING: Final = "pack_padded_sequence"
_SORTS: Final = frozenset(("sort", "argsort", "sorted"))


class Sorted(NamedTuple):
    """Where rows are taken in another order, how that is written, and by which name the order goes."""

    node: p.Node
    order: str


class SortedRows(Observer):
    """Watches forwards that sort their rows, and the losses that compare what they give with a batch's labels."""

    writes = (RowsMixed,)

    _found: dict[p.Function, Sorted | None] = per_run(dict)
    _waiting: MutableMapping[Site, str] = per_path(
        dict
    )  # in the module that is being called, with what is written there
    _returned: MutableMapping[int, tuple[Site, str]] = per_path(dict)  # by the numbers of models

    @override
    def left(self, run: Run, module: Module, call: Call, result: Value) -> None:
        """A module was called: it may have sorted its rows."""
        found = module.cls.find("forward") if module.cls is not None else None
        if found is not None and isinstance(found[0], FunctionValue):
            function = found[0]
            if function.node not in self._found:
                self._found[function.node] = _sorted_in(function.node) if _packs(function.node) else None
            taken = self._found[function.node]
            if taken is not None and not _others_sort(function, run):
                self._waiting[function.unit.site(taken.node.at)] = function.unit.text(taken.node.at)
        if self._waiting and not run.modules_called:
            self._returned[module.id] = next(iter(self._waiting.items()))
            self._waiting.clear()

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss compares rows with what came with them."""
        target = values[1] if len(values) > 1 else None
        if not self._returned or target is None or target.flow.source is not Source.LOADER or target.flow.forwards:
            return
        for forward in written_forwards.numbered(run, values[0].flow.forwards):
            if forward.module not in self._returned or _is_rearranged(target):
                continue
            site, name = self._returned.pop(forward.module)
            loader = target.flow.loader
            run.emit(RowsMixed, site, how="order", name=name, loader=loader, shape=(), used_at=forward.site)


def _packs(function: p.Function) -> bool:
    return PACKING in function.calls or any(PACKING in names for names in function.uses.values())


def _sorted_in(function: p.Function) -> Sorted | None:
    """What takes rows in an order that sorts them, where nothing else is done with that order."""
    orders = [
        name for statement in walk(*function.body) if isinstance(statement, p.Assign) for name in _order(statement)
    ]
    if len(orders) != 1:
        return None
    (order,) = orders
    taken = {node for node in walk(*function.body) if _takes(node, order)}
    stored = {
        target
        for node in walk(*function.body)
        if isinstance(node, (p.Assign, p.Augment))
        for target in (node.targets if isinstance(node, p.Assign) else (node.target,))
    }
    named = sum(isinstance(node, p.Name) and node.id == order for node in walk(*function.body))
    if not taken or taken & stored or named != len(taken) + 1:  # each of these names it once, and the assignment does
        return None
    first = min(taken, key=lambda node: node.at)
    return Sorted(first, order)


def _order(statement: p.Assign) -> Iterator[str]:
    """The name that an order gets: `lengths, order = lengths.sort()` or `order = lengths.argsort()`."""
    target, value = statement.targets[-1], statement.value
    if not isinstance(value, p.Call):
        return
    name = (
        value.func.name
        if isinstance(value.func, p.Attribute)
        else value.func.id
        if isinstance(value.func, p.Name)
        else ""
    )
    if name == "sort" and isinstance(target, p.Display) and len(target.items) == 2:
        target = target.items[1]
    elif name != "argsort":
        return
    if isinstance(target, p.Name):
        yield target.id


def _takes(node: object, order: str) -> bool:
    """Whether this is `x[order]`, `x[order, :]`, `x[:, order]` or `x.index_select(0, order)`."""
    if isinstance(node, p.Index):
        keys = node.key.items if isinstance(node.key, p.Display) else (node.key,)
        return any(isinstance(key, p.Name) and key.id == order for key in keys)
    if not isinstance(node, p.Call) or not isinstance(node.func, p.Attribute) or node.func.name != "index_select":
        return False
    return any(isinstance(each, p.Name) and each.id == order for each in node.args)


def _others_sort(function: FunctionValue, run: Run) -> bool:
    """Whether anything else of these files sorts, such as the function that puts batches together: rows may be sorted by then."""
    for unit in {function.unit, run.frame.unit, run.main}:
        methods = [
            each.function for cls in unit.program.classes.values() for each in cls.body if isinstance(each, p.Define)
        ]
        for other in (*unit.program.functions.values(), *methods):
            sorts = _SORTS & other.calls or any(_SORTS & names for names in other.uses.values())
            if sorts and not _packs(other):
                return True
    return False


def _is_rearranged(target: Value) -> bool:
    """Whether labels are taken in another order, too."""
    made = target.meta if isinstance(target, Tensor) else None
    return (
        getattr(made, "name", "") in ("[]", "index_select", "gather") or getattr(target, "symbol", (None,))[0] == "[]"
    )
