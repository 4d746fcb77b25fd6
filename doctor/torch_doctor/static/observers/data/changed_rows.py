"""Samples that a data set of the project stores, and changes in place each time that it returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.static.domains.rows.windows import CutWindows
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import memory, words
from torch_doctor.static.training.data import arrays, datasets
from torch_doctor.static.values import (
    Const,
    Instance,
    Loader,
    Making,
    Method,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Value,
    symbol_of,
)
from torch_doctor.static.values.symbols import CHANGED, SLICE
from torch_doctor.trace import StoredRowChanged

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

_ARITHMETIC: Final = frozenset(words("add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_"))
"""Methods that change the numbers of a tensor again each time that they are called."""


class StoredChange(NamedTuple):
    """Where a stored sample is changed in place, and the expression for it; `sure` if it is an array, and no number."""

    site: Site
    name: str
    sample: Symbol
    sure: bool


class ChangedRows(Lasting, Observer, called=(Named(Method, _ARITHMETIC),)):
    """Samples that change where they are stored, while a data set of the project returns them."""

    writes = (StoredRowChanged,)

    _of: dict[int, StoredChange] = per_run(dict)  # by the number of the data set

    @override
    def changed(self, run: Run, holder: Value, call: Call) -> None:
        """An augmented assignment changes an array or a tensor."""
        if call.name.endswith(".__iadd__"):
            self._note(run, holder, call.name.rpartition(".")[0], call.node)

    @override
    def called(self, run: Run, func: Value, call: Call, _: Value) -> None:
        """A method changes a tensor."""
        if isinstance(func, Method):
            self._note(run, func.of, call.receiver, call.node)

    def _note(self, run: Run, holder: Value, name: str, node: p.Node) -> None:
        reading = run.of(CutWindows)
        if reading.index is None or reading.data is None or run.assumed or run.modules_called:
            return
        sample = _sample(reading.data, holder, reading.index)
        if sample is not None and reading.data.id not in self._of:
            sure = isinstance(holder, Tensor) or (isinstance(holder, Plain) and arrays.is_certain(holder))
            self._of[reading.data.id] = StoredChange(run.site(node), name, sample, sure)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A tensor is made over the memory of what changed: it is an array."""
        data = run.of(CutWindows).data
        change = self._of.get(data.id) if data is not None else None
        if data is None or change is None or change.sure or name != "torch.from_numpy" or not call.args:
            return
        if _before(symbol_of(call.args[0])) == change.sample:
            self._of[data.id] = change._replace(sure=True)

    @override
    def built(self, run: Run, thing: Value, call: Call) -> None:
        """A loader is built over such a data set, or over a part of it."""
        data = datasets.whole(run, thing.fields.get("dataset")) if isinstance(thing, Loader) else None
        if not isinstance(data, Instance) or not isinstance(thing, Loader):
            return
        datasets.item_of_project(run, data)
        change = self._of.get(data.id)
        if change is not None and change.sure:
            run.emit(StoredRowChanged, change.site, name=change.name, class_name=data.cls.name, loader=thing.id)


def _sample(data: Instance, value: Value, index: Symbol) -> Symbol | None:
    """The symbol of the stored sample that a value shows; None for a copy, and for what is stored nowhere."""
    if isinstance(value, Plain):
        symbol = _before(value.symbol)
        stored = (each.symbol for each in data.fields.values() if isinstance(each, Plain))
        return symbol if symbol[0] == "[]" and symbol[2] == index and symbol[1] in stored else None
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.args and isinstance(made.args[0], Tensor):
        if made.name == "[]":
            kept = any(each is made.args[0] for each in data.fields.values())
            return index if kept and _takes(made.args[1], index) else None
        if made.name not in memory.VIEWS:
            return None
        made = made.args[0].meta
    return None


def _takes(key: Value, index: Symbol) -> bool:
    """Whether a key takes one sample, or a part of it that is a view."""
    first, *others = key.content.items if isinstance(key, Sequence) and key.kind == "tuple" else (key,)
    return symbol_of(first) == index and all(isinstance(each, Const) or symbol_of(each)[0] == SLICE for each in others)


def _before(symbol: Symbol) -> Symbol:
    """The symbol of an array before it was changed in place."""
    while symbol[0] == "[]" and symbol[2][0] == CHANGED:
        symbol = symbol[1]
    return symbol
