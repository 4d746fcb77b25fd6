"""Reshapes that hand elements to other dimensions than those that they belong to."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains.axes import Sizes
from torch_doctor.static.domains.axes.sizes import VIEWS
from torch_doctor.static.domains.padding import filled_with
from torch_doctor.static.measuring import layers
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_path
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.values import Const, Making, Plain, Sequence, Tensor, UnknownAttribute, shapes, unpacked
from torch_doctor.static.values.shapes import Returned
from torch_doctor.trace import Reshaped, ReshapedAlike, Source
from torch_doctor.trace.amounts import Amount, Regrouped, amount, crossed, kept_order, product

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Module, Symbol, Value

_CUTTING = frozenset(("[]", "narrow", "pad", "cat"))
"""What takes elements away, or adds some."""
_REARRANGING = _CUTTING | VIEWS | {"contiguous", "clone", "flatten", "to"}
"""What computes nothing."""
_TESTS = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_NOTHING = -1
"""Stands for the event of a reshape that may move nothing."""
_FARTHEST = 60
"""Operations between two reshapes, of which the second is only there because of the first."""


class Reshapes(Observer, made=lambda name: name.rpartition(".")[2] in VIEWS, calling=(Named(UnknownAttribute, VIEWS),)):
    """Compares the sizes that a reshape asks for with those of whole dimensions."""

    writes = (Reshaped, ReshapedAlike)

    _found: MutableMapping[Making, tuple[int, object, tuple[Amount, ...]]] = per_path(dict)
    """The event of each reshape, its groups, and the sizes before it."""

    @override
    def assigned(self, run: Run, node: p.Assign, value: Value) -> None:
        """A shape that is taken apart says how many dimensions there are."""
        for target in node.targets:
            if isinstance(target, p.Display) and not any(isinstance(item, p.Star) for item in target.items):
                run.of(Sizes).taken_apart(value, len(target.items))

    @override
    def left(self, run: Run, module: Module, call: Call, _: Value) -> None:
        """A layer was called: what it takes has so many dimensions."""
        given, layer = call.argument(0), module.layer.removeprefix("torch.nn.")
        if not layer or given is None:
            return
        if (rank := table.LAYERS_RANKS.get(layer)) is not None:
            run.of(Sizes).has_rank(layers.packing(unpacked(given)).get(layers.PADDED, given), rank)
        if layer == "Linear" and (size := layers.given(module, 0, "in_features")) is not None:
            run.of(Sizes).ends_with(given, size)

    @override
    def calling(self, run: Run, func: Value, call: Call) -> None:
        """An argument, of which nobody knows what it is, is reshaped; afterwards, a list of sizes may have been changed."""
        if isinstance(func, UnknownAttribute):
            self._reshaped(run, call.with_first(func.of), None)

    @override
    def made(self, run: Run, _: str, call: Call, result: Value) -> None:
        """A tensor is reshaped."""
        self._reshaped(run, call, result)

    def _reshaped(self, run: Run, call: Call, result: Value | None) -> None:
        if not call.args or _is_noise(call.args[0]):
            return
        made = result.meta if isinstance(result, Tensor) else None
        if not isinstance(made, Making):
            made = Making("view", call.args, call.keywords)  # of what nobody knows, but for how many dimensions it has
        if not self._found and _is_flat(run, made):
            return
        before, after = (_whole(run.ask(Sizes, each)) for each in (call.args[0], Tensor(meta=made)))
        meant = crossed(before, after) if before and after else None
        if self._found and (first := self._rearranged(made, after)) is not None:
            run.emit(ReshapedAlike, call.node, reshaped=(first,), restored=True)
        if meant is None or not before or not after or not _certain(run, made, before, after, meant):
            return
        if any(each in self._found for each in _behind(made)):
            return  # it undoes what another one did
        if any(map(run.of(Sizes).may_be_one, before)) or _told_to_be_one(run, before) or _is_filled_up(call.args[0]):
            self._found[made] = _NOTHING, meant.groups, before
            return
        site = run.site(call.node)
        texts = _texts(run, call.node, len(after))
        event = run.emit(
            Reshaped,
            site,
            name=run.text(call.node),
            before=tuple(_spelled(size, after, texts) for size in before),
            after=tuple(_spelled(size, after, texts) for size in after),
            meant=meant.groups,
        )
        self._found[made] = event.index, meant.groups, before

    def _rearranged(self, made: Making, after: tuple[Amount, ...] | None) -> int | None:
        """The event of a reshape that this one takes back, with nothing but rearranging between them; None where there is none.

        If nothing is cut off between them, the elements have to be in their dimensions again.
        """
        cut = False
        while made.args and isinstance(first := made.args[0], Tensor) and isinstance(first.meta, Making):
            made = first.meta
            if made in self._found:
                index, _, before = self._found[made]
                return index if cut or (after is not None and crossed(before, after) is None) else None
            if made.name not in _REARRANGING:
                return None
            cut = cut or made.name in _CUTTING
        return None

    @override
    def lossed(self, run: Run, values: tuple[Value, ...], node: p.Node) -> None:
        """A loss gets its input and its target: where both were reshaped alike, an elementwise one gives the same number."""
        if len(values) < 2 or not self._found:
            return
        both = [
            next((self._found[each] for each in _behind(value) if each in self._found), None) for value in values[:2]
        ]
        if both[0] is not None and both[1] is not None and both[0][1] == both[1][1]:
            run.emit(ReshapedAlike, node, reshaped=tuple(each[0] for each in both if each is not None))


def _is_noise(value: Value) -> bool:
    """Whether its numbers were drawn, so that one order of them is as good as another."""
    return isinstance(value, Tensor) and value.flow.source is Source.NOISE


def _is_filled_up(value: Value) -> bool:
    """Whether constants were just put beside a tensor: they push its elements on, as the relative shift of attention does."""
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.args and made.name in ("contiguous", "clone"):
        made = made.args[0].meta if isinstance(made.args[0], Tensor) else None
    if not isinstance(made, Making) or made.name not in ("pad", "cat"):
        return False
    parts = made.args[0].content.all() if made.args and isinstance(made.args[0], Sequence) else ()
    metas = (part.meta for part in parts if isinstance(part, Tensor))
    return made.name == "pad" or any(isinstance(meta, Making) and filled_with(meta) is not None for meta in metas)


def _is_flat(run: Run, made: Making) -> bool:
    """Whether a reshape leaves one dimension, or as many as nobody knows: most do, and none of these moves anything for certain."""
    written = run.of(Sizes).written(made)
    return written is None or (len(written) == 1 and isinstance(written[0], Const))


def _whole(sizes: tuple[Amount | None, ...] | None) -> tuple[Amount, ...] | None:
    known = tuple(size for size in sizes or () if size is not None)
    return known if sizes and len(known) == len(sizes) else None


def _certain(run: Run, made: Making, before: tuple[Amount, ...], after: tuple[Amount, ...], meant: Regrouped) -> bool:
    """Whether dimensions change places for certain.

    If the order of the elements could be kept by splitting and merging pieces of dimensions, one of the sizes that are written has
    to be the size of a whole one, by its name.
    """
    if kept_order(before, after) is None:
        return True
    written = run.of(Sizes).written(made) or ()
    for old, new in meant.groups:
        value = written[new[0]] if len(old) == len(new) == 1 and new[0] < len(written) else None
        named = isinstance(value, Plain) and value.size is not None and value.size.name == "size"
        if named and product(before[: old[0]]) != product(after[: new[0]]):
            return True
    return False


def _told_to_be_one(run: Run, sizes: tuple[Amount, ...]) -> bool:
    """Whether one of these sizes is 1 where a test goes as it does on this path: then it may stand in any place."""
    ones = (side for symbol, arm in run.assumed.items() for side in _ones(symbol, arm))
    return any(run.of(Sizes).amount_of(Plain(side)) in sizes for side in ones)


def _ones(symbol: Symbol, arm: bool) -> Iterator[Symbol]:  # noqa: FBT001 - as the path has it
    """What may be 1, and is no larger number, where a test goes like this."""
    op, *parts = symbol
    if op in ("and", "or", "not"):
        for part in parts:
            yield from _ones(part, arm is not (op == "not"))
    elif op in _TESTS and len(parts) == len(("left", "right")):
        for side, other, test in ((*parts, _TESTS[op]), (*reversed(parts), lambda a, b: _TESTS[op](b, a))):
            if other[0] == "const" and type(other[1]) is int and test(1, other[1]) is arm is not test(2, other[1]):
                yield side


def _behind(start: Making | Value) -> Iterator[Making]:
    """What a tensor was made of, the nearest first."""
    waiting: list[object] = [start.meta if isinstance(start, Tensor) else start]
    seen: set[int] = set()
    while waiting and len(seen) < _FARTHEST:
        made = waiting.pop(0)
        made = made.within if isinstance(made, Returned) else made
        if not isinstance(made, Making) or id(made) in seen:
            continue
        seen.add(id(made))
        if made is not start:
            yield made
        for value in made.args:
            parts = value.content.all() if isinstance(value, Sequence) else (value,)
            waiting += [part.meta for part in parts if isinstance(part, Tensor)]


def _texts(run: Run, node: p.Node, many: int) -> list[str]:
    """How the sizes are written, one for each dimension; nothing where they are given otherwise."""
    given = node.args if isinstance(node, p.Call) else ()
    if len(given) == 1 and isinstance(given[0], p.Display):
        given = given[0].items
    return [run.text(each) for each in given] if len(given) == many else []


def _spelled(size: Amount, after: tuple[Amount, ...], texts: list[str]) -> str | int:
    """A size as the script spells it, or as a number; "?" where it has neither."""
    text = texts[after.index(size)] if texts and size in after else ""
    if text and text != "-1":
        return text
    return size.number if not size.names and size.divisor == 1 else "batch" if size == amount(shapes.BATCH) else "?"
