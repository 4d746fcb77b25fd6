"""Arrays whose memory a tensor has: changes of the one that the other was not meant to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import memory as table
from torch_doctor.static.training import splitting
from torch_doctor.static.training.computing.tensors import JOINING
from torch_doctor.static.values import (
    Call,
    Const,
    Content,
    Instance,
    Plain,
    Sequence,
    Stream,
    Symbol,
    Tensor,
    Tool,
    Value,
)
from torch_doctor.trace import MemoryChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Module
    from torch_doctor.trace import Scope, Site

DEEP = 3


class Share:
    """A tensor that was made over the memory of an array, at `site`; `array` is the array's symbol."""

    __slots__ = ("array", "number", "scope", "site")

    def __init__(self, number: int, array: Symbol, site: Site, scope: Scope) -> None:
        self.number = number
        self.array = array
        self.site = site
        self.scope = scope


class Change:
    """An array called `name` was changed in place at `site`."""

    __slots__ = ("name", "site")

    def __init__(self, name: str, site: Site) -> None:
        self.name = name
        self.site = site


class SharedMemory(Lasting, Observer):
    """Tensors that share memory with an array, what changes the array, and who computes with the tensor then."""

    writes = (MemoryChanged,)

    _of: dict[int, tuple[Value, Share]] = per_run(dict)  # by the id of the tensor, which is kept with it
    _arrays: dict[Symbol, list[Share]] = per_run(dict)
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
        selects = short == "[]" and isinstance(call.args[1], (Const, Plain))
        if known is not None and made is not None and (short in table.VIEWS or selects):
            self._of[id(made)] = (made, known[1])
        if short in JOINING:
            self._used(run, call.args, call.node, many=True)

    def _shared(self, run: Run, name: str, call: Call, made: Value | None) -> None:
        """`from_numpy` takes the memory of an array, `as_tensor` does where nothing is converted."""
        given = call.argument(0)
        if not isinstance(given, Plain) or made is None or run.modules_called:
            return
        if name != "torch.from_numpy" and (call.keywords or given.symbol[0] != "array"):
            return
        share = Share(len(self._of), given.symbol, run.site(call.node), run.scope)
        self._of[id(made)] = (made, share)
        self._arrays.setdefault(given.symbol, []).append(share)

    @override
    def changed(self, run: Run, holder: Value, call: Call) -> None:
        """An array is changed in place."""
        if not self._arrays or not isinstance(holder, Plain):
            return
        for share in self._arrays.get(splitting.stem(holder.symbol), ()):
            key = ("changed", share.number)
            if not run.state.fields.get(key) and _another_time(share, run.scope):
                name = call.name.rpartition(".")[0]
                run.heap.set(run.state.fields, key, Change(name, run.site(call.node)))

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
        for value in _each(values):
            known = self._of.get(id(value))
            change = run.state.fields.get(("changed", known[1].number)) if known is not None else None
            if known is None or not change:
                continue
            same = known[1].scope.iterations() == run.scope.iterations()
            if change.site not in self._told and not (many and same):
                self._told.add(change.site)
                run.emit(MemoryChanged, change.site, name=change.name, shared_at=known[1].site, used_at=run.site(node))


@library_family(lambda name: not name.startswith("builtins."), stage=Stage.ANY)
def changed_by_function(run: Run, name: str, call: Call) -> None:
    """A function that changes its first argument, or one that writes to its `out`."""
    holder = call.argument(0) if name in table.CHANGING_FIRST else call.keywords.get("out")
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


def _each(values: Iterable[Value], depth: int = DEEP) -> Iterator[Value]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif depth and isinstance(value, Sequence):
            content: Content = value.content
            yield from _each(content.all(), depth - 1)
        elif depth and isinstance(value, Tool):
            yield from _each(value.args, depth - 1)
        elif depth and isinstance(value, Instance):
            yield from _each((item for item in value.fields.values() if isinstance(item, Value)), depth - 1)
