"""Arrays whose memory a tensor has: changes of the one that the other was not meant to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import memory as table
from torch_doctor.static.training import splitting
from torch_doctor.static.values import (
    Call,
    Content,
    Instance,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Tool,
    Value,
    fresh_symbol,
)
from torch_doctor.trace import MemoryChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
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


class Shares(Lasting):
    """The tensors of one run that share memory with an array, by the number of the value, which is kept with them."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[Value, Share]] = {}
        self.arrays: dict[Symbol, list[Share]] = {}
        self.told: set[Site] = set()


def symbol_of(name: str) -> Symbol | None:
    """The symbol of what a function of numpy returns, where that is surely an array of its own."""
    return ("array", fresh_symbol()) if name in table.ARRAYS else None


def shared(run: Run, name: str, call: Call, made: Value) -> None:
    """A tensor is made of an array: `from_numpy` takes its memory, `as_tensor` does where nothing is converted."""
    given = call.argument(0)
    if not isinstance(given, Plain) or not isinstance(made, Tensor) or run.modules_called:
        return
    if name not in table.SHARING or (name != "torch.from_numpy" and (call.keywords or given.symbol[0] != "array")):
        return
    share = Share(len(run.of(Shares).of), given.symbol, run.site(call.node), run.scope)
    run.of(Shares).of[id(made)] = (made, share)
    run.of(Shares).arrays.setdefault(given.symbol, []).append(share)


def viewed(run: Run, name: str, of: Value, made: Value) -> None:
    """A tensor method that gives a view of the same numbers."""
    known = run.of(Shares).of.get(id(of))
    if known is not None and name in table.VIEWS:
        run.of(Shares).of[id(made)] = (made, known[1])


@library_family(lambda name: not name.startswith("builtins."), stage=Stage.ANY)
def changed_by_function(run: Run, name: str, call: Call) -> None:
    """A function that changes its first argument, or one that writes to its `out`."""
    if run.of(Shares).arrays:
        holder = call.argument(0) if name in table.CHANGING_FIRST else call.keywords.get("out")
        if holder is not None:
            changed(run, holder, run.text_of_argument(call.node, 0) if call.args else "out", call.node)


def changed(run: Run, holder: Value, name: str, node: p.Node) -> bool:
    """An array is changed in place; True when a tensor has its memory."""
    if not isinstance(holder, Plain):
        return False
    shares = run.of(Shares).arrays.get(splitting.stem(holder.symbol), [])
    for share in shares:
        key = ("changed", share.number)
        if not run.state.fields.get(key) and _another_time(share, run.scope):
            run.heap.set(run.state.fields, key, Change(name, run.site(node)))
    return bool(shares)


def _another_time(share: Share, now: Scope) -> bool:
    """Whether the tensor was made in an earlier pass of a loop, or in the same: not once for a loop that fills the array."""
    made, here = share.scope.iterations(), now.iterations()
    return [scope.loop for scope in made] == [scope.loop for scope in here]


def used(run: Run, values: Iterable[Value], node: p.Node, *, many: bool = False) -> None:
    """Values are computed with: by a model or a loss, or (`many`) many of them are put together."""
    for value in _each(values):
        known = run.of(Shares).of.get(id(value))
        change = run.state.fields.get(("changed", known[1].number)) if known is not None else None
        if known is None or not change:
            continue
        same = known[1].scope.iterations() == run.scope.iterations()
        if change.site not in run.of(Shares).told and not (many and same):
            run.of(Shares).told.add(change.site)
            run.emit(MemoryChanged, change.site, name=change.name, shared_at=known[1].site, used_at=run.site(node))


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
