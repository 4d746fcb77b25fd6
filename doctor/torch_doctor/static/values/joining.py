"""What is known of something that is one of several values."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from torch_doctor.static.flow import EMPTY, Flow, alternatives
from torch_doctor.static.values.containers import Content
from torch_doctor.static.values.facts import Fact
from torch_doctor.static.values.functions import FunctionValue
from torch_doctor.static.values.mode import Mode
from torch_doctor.static.values.mode import one_of as one_mode
from torch_doctor.static.values.modules import Module
from torch_doctor.static.values.objects import stand_for_one
from torch_doctor.static.values.origin import NOWHERE, Origin
from torch_doctor.static.values.plain import (
    MISSING,
    Const,
    Default,
    Either,
    Lib,
    Number,
    Plain,
    Unknown,
    number_dtype,
    plain_from,
)
from torch_doctor.static.values.reach import held
from torch_doctor.static.values.shapes import LONGEST, Making, number
from torch_doctor.static.values.symbols import DEVICE, PICTURE, conditions, fresh_symbol, statistic_in
from torch_doctor.static.values.tensors import Params, Tensor
from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values.symbols import Conditions, Symbol


_NO_CONDITIONS: Conditions = frozenset()
MAX_OPTIONS = 4
"""Values that are told apart; more are summed up."""


def joined(key: object, left: Any, right: Any, symbol: Symbol | None) -> Any:
    """What is known of a field that is `left` where `symbol` holds and `right` where it does not."""
    if not isinstance(key, Fact):
        return join(left, right, symbol)
    if left is right:
        return left
    if key.joined is None and key.unset is None:
        return join(left, right, symbol)
    left, right = (key.unset if side is MISSING else side for side in (left, right))
    return join(left, right, symbol) if key.joined is None else key.joined(left, right)


def join(left: Any, right: Any, symbol: Symbol | None = None) -> Any:
    """What is known of something that is `left` where `symbol` holds and `right` where it does not."""
    if left is right:
        return left
    if left is MISSING:
        return right if isinstance(right, (Value, Content)) else None
    if right is MISSING:
        return left if isinstance(left, (Value, Content)) else None
    if isinstance(left, Content) and isinstance(right, Content):
        return _join_content(left, right)
    if not isinstance(left, Value) or not isinstance(right, Value):
        return left if left == right else None
    if (
        isinstance(left, Const)
        and isinstance(right, Const)
        and left.value == right.value
        and type(left.value) is type(right.value)
    ):
        return right if isinstance(right, Default) else left
    if isinstance(left, Plain) and isinstance(right, Plain):
        return _join_plain(left, right, symbol)
    if left.__class__ is not right.__class__:
        return _options(left, right, symbol)
    if (
        isinstance(left, Tensor)
        and isinstance(right, Tensor)
        and left.kind is right.kind
        and left.origin.site == right.origin.site
    ):
        flow = alternatives(left.flow, right.flow)
        meta = left.meta
        if meta is not right.meta:
            both = Making("either", (left, right)) if left.meta and right.meta else None
            meta = both if both is not None and both.depth < LONGEST else None
        scalar = left.scalar if left.scalar is right.scalar else None
        origin = _join_origin(left.origin, right.origin, symbol)
        if meta is left.meta and scalar is left.scalar and origin is left.origin and flow is left.flow:
            return left
        return left.altered(flow=flow, scalar=scalar, meta=meta, origin=origin)
    if (isinstance(left, Lib) and isinstance(right, Lib) and left.name == right.name) or stand_for_one(left, right):
        return left
    if isinstance(left, FunctionValue) and isinstance(right, FunctionValue) and left.node is right.node:
        return left
    if isinstance(left, Module) and isinstance(right, Module) and left.id == right.id:
        return left if left.shell else right  # where a test decides whether it is wrapped, both are meant
    if isinstance(left, Params) and isinstance(right, Params):
        if left.modules == right.modules:
            return left
        return Params(left.modules | right.modules, whole=False, single=left.single and right.single)
    if isinstance(left, Mode) and isinstance(right, Mode):
        return left if left.same(right) else _options(left, right, symbol)
    if isinstance(left, Origin) and isinstance(right, Origin):
        return _join_origin(left, right, symbol)
    if type(left) is Unknown and type(right) is Unknown and left.flow == right.flow and left.origin is right.origin:
        return Unknown(left.flow, left.holds | right.holds, origin=left.origin)  # nothing tells them apart
    return _options(left, right, symbol)


def _join_plain(left: Plain, right: Plain, symbol: Symbol | None) -> Value:
    """What is known of a number, a text or an array that is one of both."""
    if (left.flow.sums, left.flow.rows, left.flow.means) != (right.flow.sums, right.flow.rows, right.flow.means):
        return Number(
            alternatives(left.flow, right.flow), left.symbol if _of_same(left, right) else fresh_symbol(), left.size
        )
    if DEVICE in (left.symbol[0], right.symbol[0]) and left.symbol != right.symbol:
        return _options(left, right, symbol)
    if not _alike(left.symbol, right.symbol) or not _of_same(left, right):
        return plain_from((left, right))
    return right if isinstance(right, Number) and not isinstance(left, Number) else left


def _alike(left: Symbol, right: Symbol) -> bool:
    """Whether two symbols are of pictures that are the same in all that is known, or of no picture."""
    if PICTURE not in (left[0], right[0]):
        return True
    return left[0] == right[0] and left[3:] == right[3:]


def _of_same(left: Plain, right: Plain) -> bool:
    """Whether both are one number, or none of them a statistic of rows: those of others are others."""
    one, other = left.symbol, right.symbol
    return one == other or (statistic_in(one) is None and statistic_in(other) is None)


def _join_origin(left: Origin, right: Origin, symbol: Symbol | None) -> Origin:
    """What is known of the origin of a tensor that has one of both, whose kind comes from one place."""
    both = left.merged(right)
    if both is not None:
        return both
    yes, no = conditions(symbol)
    return one_of(((yes, left), (no, right))).by(left.operation, left.site)


def one_of(origins: Iterable[tuple[Conditions, Origin]]) -> Origin:
    """One of several origins, each with what must hold for it; what gave the numbers their kind is left out."""
    found = either((facts, Either(origin.options) if origin.options else origin.by()) for facts, origin in origins)
    if not isinstance(found, Either):
        return found if isinstance(found, Origin) else NOWHERE
    return Origin(options=tuple((facts, each) for facts, each in found.options if isinstance(each, Origin)))


def _options(left: Value, right: Value, symbol: Symbol | None) -> Value:
    single = not isinstance(left, Either) and not isinstance(right, Either)
    yes, no = conditions(symbol)
    if single and not _one(left, right):
        return Either(((yes, left), (no, right)))
    value = either(((yes, left), (no, right)))
    if isinstance(value, Either) and all(_is_plain(option) for _, option in value.options):
        return value.options[0][1]
    return value


def _is_plain(value: Value) -> bool:
    """Whether nothing more is known of a value than that it is plain: which of several it is matters to nobody."""
    return isinstance(value, Plain) and value.symbol[0] != DEVICE


def either(options: Iterable[tuple[Conditions, Value]]) -> Value:
    """One of several values, each with what must hold for it.

    Alternatives are flat: an option that is itself one of several is taken apart. Options that are one thing are joined,
    those that no path leads to are left out, and more than `MAX_OPTIONS` are summed up. Those that fewer tests lead to come
    first, whichever arm they were made in: one test tells the first from the others.
    """
    found: list[tuple[Conditions, Value]] = []
    for outer, value in options:
        for inner, option in value.options if isinstance(value, Either) else ((_NO_CONDITIONS, value),):
            if inner and outer and any((symbol, not arm) in outer for symbol, arm in inner):
                continue
            facts = outer | inner if inner else outer
            for i, (needs, known) in enumerate(found):
                if known is option or _one(known, option):
                    if isinstance(option, Mode) and not _loses_nothing(needs, facts):
                        continue
                    found[i] = (needs & facts, known if known is option else join(known, option))
                    break
            else:
                found.append((facts, option))
    if len(found) == 1:
        return found[0][1]
    found.sort(key=lambda each: len(each[0]))
    return Either(tuple(found)) if 0 < len(found) <= MAX_OPTIONS else summary(value for _, value in found)


def _loses_nothing(needs: Conditions, other: Conditions) -> bool:
    """Whether what both have in common holds exactly where one of them does."""
    here, there = needs - other, other - needs
    if not here or not there:
        return True
    return len(here) == len(there) == 1 and next(iter(here))[0] == next(iter(there))[0]


def _one(value: Value, other: Value) -> bool:
    """Whether both are one thing, or one module, whether it is wrapped or not, or at one place."""
    if value is other:
        return True
    if isinstance(value, Origin):
        return isinstance(other, Origin) and value.merged(other) is not None
    if isinstance(value, Mode):
        return isinstance(other, Mode) and value.same(other)
    return isinstance(value, Module) and isinstance(other, Module) and value.id == other.id


def summary(values: Any) -> Value:
    """One value that stands for all of these, when there are too many to tell apart."""
    found = list(values)
    if not found:
        return Unknown()
    if all(isinstance(value, (Const, Plain)) for value in found):
        return found[0] if len(found) == 1 else _number_of(found)
    modes = [value for value in found if isinstance(value, Mode)]
    if len(modes) == len(found):
        return one_mode(modes)
    result = found[0]
    if len(found) <= MAX_OPTIONS:
        for value in found[1:]:
            result = join(result, value)
        return result  # type: ignore[no-any-return]  # join of two values is a value
    if all(isinstance(value, Origin) for value in found):
        return NOWHERE
    if all(isinstance(value, Params) for value in found):
        return Params(frozenset().union(*(value.modules for value in found)), whole=False)
    return Unknown(reduce(alternatives, (value.flow for value in found)), held(found))


def _number_of(numbers: list[Value]) -> Value:
    """One of these numbers."""
    means = all(value.flow.means for value in numbers)
    flow = Flow(means=frozenset().union(*(value.flow.means for value in numbers))) if means else EMPTY
    return plain_from(numbers, flow=flow, size=number(map(number_dtype, numbers)))


def _join_content(left: Content, right: Content) -> Content:
    if len(left.items) == len(right.items):
        items = tuple(join(a, b) for a, b in zip(left.items, right.items, strict=True))
        rest = left.rest if right.rest is None else right.rest if left.rest is None else join(left.rest, right.rest)
        return Content(items, rest, _joined_end(left, right) if rest is not None else None)
    short, long = (left, right) if len(left.items) < len(right.items) else (right, left)
    common = tuple(join(a, b) for a, b in zip(short.items, long.items, strict=False))
    others = [*long.items[len(common) :], *(v for v in (short.rest, long.rest) if v is not None)]
    return Content(common, summary(others), _joined_end(left, right))


def _joined_end(left: Content, right: Content) -> Value | None:
    if left.last is None or right.last is None:
        return None
    return left.last if left.last is right.last else join(left.last, right.last)
