"""Arrays whose memory a tensor has: changes of the one that the other was not meant to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import memory as table
from torch_doctor.static.training import pixels
from torch_doctor.static.training.computing.tensors import JOINING
from torch_doctor.static.training.data import arrays
from torch_doctor.static.training.data.views import UNKNOWN, key_of, view_of
from torch_doctor.static.values import (
    Call,
    Content,
    Instance,
    Loader,
    Method,
    Plain,
    Sequence,
    Stream,
    Symbol,
    Tensor,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.trace import MemoryChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.training.data.views import View
    from torch_doctor.static.values import Module
    from torch_doctor.trace import Scope, Site

DEEP = 3
_COLLECTING = frozenset(("append", "appendleft", "add", "insert"))
"""Methods that put a value into a list."""


class Share:
    """A tensor that was made over the memory of an array, at `site`; `view` is the part of it."""

    __slots__ = ("number", "scope", "site", "view")

    def __init__(self, number: int, view: View, site: Site, scope: Scope) -> None:
        self.number = number
        self.view = view
        self.site = site
        self.scope = scope


class Change:
    """An array called `name` was changed in place at `site`, in this part. `rows`: it counts for rows of a data set alone."""

    __slots__ = ("name", "rows", "site", "view")

    def __init__(self, name: str, site: Site, view: View, *, rows: bool) -> None:
        self.name = name
        self.site = site
        self.view = view
        self.rows = rows


class SharedMemory(Lasting, Observer, called=(Named(Method, _COLLECTING),)):
    """Tensors that share memory with an array, what changes the array, and who computes with the tensor then."""

    writes = (MemoryChanged,)

    _of: dict[int, tuple[Value, Share, View]] = per_run(
        dict
    )  # by the id of the tensor, which is kept with it; its part
    _arrays: dict[Symbol, list[Share]] = per_run(dict)
    _collected: dict[int, list[Value]] = per_run(dict)  # such tensors in a list, by its number
    _told: set[Site] = per_run(set)

    @override
    def made(self, run: Run, name: str, call: Call, result: Value) -> None:
        """A tensor is made of an array or of a tensor, whose memory it may have, or of many tensors."""
        made = _first(result)
        if name in table.SHARING:
            self._shared(run, name, call, made)
        if not self._of or not call.args:
            return
        short, known = name.rpartition(".")[2], self._of.get(id(call.args[0]))
        if known is not None and made is not None:
            key = key_of(run, call.args[1]) if short == "[]" else None
            if short in table.VIEWS or key is not None or (short == "[]" and isinstance(call.args[1], Plain)):
                self._of[id(made)] = (made, known[1], known[2] if key is None else known[2].of(key))
        if short in JOINING:
            self._used(run, call.args, call.node, many=True)

    def _shared(self, run: Run, name: str, call: Call, made: Value | None) -> None:
        """`from_numpy` takes the memory of an array, `as_tensor` does where nothing is converted."""
        given = call.argument(0)
        if not isinstance(given, Plain) or made is None or run.modules_called:
            return
        view = view_of(run, given.symbol)
        if view is None or (name != "torch.from_numpy" and (call.keywords or view.array[0] != "array")):
            return
        share = Share(len(self._of), view, run.site(call.node), run.scope)
        self._of[id(made)] = (made, share, view)
        self._arrays.setdefault(view.array, []).append(share)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """Such a tensor is put into a list, of which nobody knows afterwards what it has."""
        if self._of and isinstance(func, Method) and isinstance(func.of, Sequence):
            found = [value for value in self._each(call.args) if id(value) in self._of]
            self._collected.setdefault(func.of.id, []).extend(found)

    @override
    def changed(self, run: Run, holder: Value, call: Call) -> None:
        """An array is changed in place."""
        if not self._arrays or not isinstance(holder, Plain):
            return
        view = view_of(run, holder.symbol)
        if view is None or view.array not in self._arrays:
            return
        name, _, how = call.name.rpartition(".")
        if how == "__iadd__" and view.keys and not (view.sliced or arrays.is_certain(holder)):
            return  # a number
        mistaken = how == "__iadd__" and name.isidentifier() and bool(view.keys)
        if how == "__setitem__" and call.args:
            view = view.of(key_of(run, call.args[0]) or UNKNOWN)
        for share in self._arrays[view.array]:
            field, again = ("changed", share.number), _another_time(share, run.scope)
            if not run.state.fields.get(field) and (again or mistaken) and share.view.meets(view):
                run.heap.set(run.state.fields, field, Change(name, run.site(call.node), view, rows=not again))

    @override
    def entered(self, run: Run, _: Module, call: Call) -> None:
        """A model computes with what it is given."""
        if self._of and not run.modules_called:
            self._used(run, call.values, call.node)

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss does."""
        if self._of:
            self._used(run, values, node)

    def _used(self, run: Run, values: Iterable[Value], node: p.Node, *, many: bool = False) -> None:
        """Values are computed with: by a model or a loss, or (`many`) many of them are put together."""
        for value, loaded in self._given(run, values):
            known = self._of.get(id(value))
            change = run.state.fields.get(("changed", known[1].number)) if known is not None else None
            if known is None or not change or (change.rows and not loaded) or not known[2].meets(change.view):
                continue
            same = known[1].scope.iterations() == run.scope.iterations()
            if change.site not in self._told and not (many and same):
                self._told.add(change.site)
                run.emit(MemoryChanged, change.site, name=change.name, shared_at=known[1].site, used_at=run.site(node))

    def _given(self, run: Run, values: Iterable[Value]) -> Iterator[tuple[Value, bool]]:
        """The tensors among these values, and the rows of a loader whose batch one is; and whether they are such rows."""
        for value in self._each(values):
            yield value, False
            loader = run.objects.get(value.flow.loader) if value.flow.loader else None
            rows = loader.fields.get("dataset") if isinstance(loader, Loader) else None
            for row in self._each([run.resolve(rows)]) if isinstance(rows, Value) else ():
                yield row, True

    def _each(self, values: Iterable[Value], depth: int = DEEP) -> Iterator[Value]:
        for value in values:
            if isinstance(value, (Tensor, Unknown)):
                yield value
            elif depth and isinstance(value, Sequence):
                content: Content = value.content
                yield from self._each(content.all(), depth - 1)
                yield from self._collected.get(value.id, ()) if content.rest is not None else ()
            elif depth and isinstance(value, Tool):
                yield from self._each(value.args, depth - 1)
            elif depth and isinstance(value, Instance):
                yield from self._each((item for item in value.fields.values() if isinstance(item, Value)), depth - 1)


@library_family(lambda name: not name.startswith("builtins."), stage=Stage.ANY)
def changed_by_function(run: Run, name: str, call: Call) -> None:
    """A function that changes its first argument, or one that writes to its `out`."""
    holder = call.argument(0) if name in table.CHANGING_FIRST else call.keywords.get("out")
    if holder is not None:
        pixels.disturbed(run, holder)
    if holder is not None and run.watches(SharedMemory):
        spelled = run.text_of_argument(call.node, 0) if call.args else "out"
        run.of(SharedMemory).changed(run, holder, call.renamed(f"{spelled}.{name.rpartition('.')[2]}"))


def _another_time(share: Share, now: Scope) -> bool:
    """Whether the tensor was made in an earlier pass of a loop, or in the same: not once for a loop that fills the array."""
    made, here = share.scope.iterations(), now.iterations()
    return [scope.loop for scope in made] == [scope.loop for scope in here]


def _first(value: Value) -> Tensor | None:
    """The tensor that a function returned, or the first of several."""
    if isinstance(value, Stream):
        value = value.item
    elif isinstance(value, Sequence) and value.content.items:
        value = value.content.items[0]
    return value if isinstance(value, Tensor) else None
