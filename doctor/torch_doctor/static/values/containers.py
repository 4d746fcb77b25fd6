"""Lists, tuples, sets, dicts, and what loops go through."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from torch_doctor.static.flow import EMPTY, Flow, alternatives, blend
from torch_doctor.static.values.facts import Fact
from torch_doctor.static.values.objects import Object
from torch_doctor.static.values.plain import Either
from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from torch_doctor.static.values.symbols import Symbol
    from torch_doctor.trace import Site


class Content:
    """What a sequence holds: the first items one by one, and `rest` for any number of further ones.

    `end` is the very last of these, where that is known.
    """

    __slots__ = ("_flow", "end", "items", "rest")

    def __init__(self, items: tuple[Value, ...] = (), rest: Value | None = None, end: Value | None = None) -> None:
        self.items = items
        self.rest = rest
        self.end = end
        self._flow: Flow | None = None

    @property
    def last(self) -> Value | None:
        """The very last item; None where it is not known, or where there is none."""
        return self.end if self.rest is not None or not self.items else self.items[-1]

    def all(self) -> tuple[Value, ...]:
        """Every item, the summary of the further ones included."""
        return self.items if self.rest is None else (*self.items, self.rest)

    @property
    def flow(self) -> Flow | None:
        """What the items carry; None where that of one may change: a container's, or a parameter's."""
        if self._flow is None:
            items = self.all()
            if any(map(_may_change, items)):
                return None
            self._flow = blend([item.flow for item in items])
        return self._flow


class Sequence(Object):
    """A list, tuple, set or deque (`kind`). Its content is the field "items".

    `function` is the function that made it. `names` are those of the items of a named tuple, in order.
    """

    __slots__ = ("bounded", "function", "kind", "names")

    def __init__(
        self,
        kind: str,
        content: Content,
        born: Site | None = None,
        function: object = None,
        *,
        bounded: bool = False,
        names: tuple[str, ...] = (),
    ) -> None:
        super().__init__(born)
        self.kind = kind
        self.fields["items"] = content
        self.bounded = bounded
        self.names = names
        self.function = function

    @property
    def content(self) -> Content:
        """What it holds now."""
        content: Content = self.fields["items"]
        return content

    @property
    def counted(self) -> int:
        """The number of the list that it has as many items as, if a comprehension made it of one; else its own."""
        of = self.fact(Fact.ONE_BY_ONE)
        return of[0] if of is not None and of[1] is self.content else self.id

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the items
        """What its items carry."""
        return self.content.flow or _carried(self, {})

    @property
    def tells_version(self) -> bool:
        """Whether an item of it does."""
        return any(not isinstance(item, Object) and item.tells_version for item in self.content.all())


PACKED = "packed"
"""The `kind` of a `PackedSequence`: a tuple of its data and three tensors of numbers about it."""


def unpacked(value: Value) -> Value:
    """The data of a `PackedSequence`; anything else as it is."""
    if isinstance(value, Sequence) and value.kind == PACKED and value.content.items:
        return value.content.items[0]
    return value


class Mapping(Object):
    """A dict: known keys are fields ("key", value); "rest" is what lies under any other key."""

    __slots__ = ("function",)

    def __init__(self, born: Site | None = None, function: object = None) -> None:
        super().__init__(born)
        self.function = function

    def values(self) -> tuple[Value, ...]:
        """Every value in it."""
        return tuple(value for value in self.fields.values() if isinstance(value, Value))

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the values
        """What its values carry."""
        return _carried(self, {})


_HOLDING = frozenset((Sequence, Mapping, Either))


def _may_change(value: Value) -> bool:
    """Whether what a value carries is worked out anew each time."""
    flow: object = type(value).flow
    return isinstance(flow, property)


def _carried(value: Value, known: dict[int, Flow]) -> Flow:
    """What a value carries, each container within it looked at once, however often it is in there."""
    if isinstance(value, (Sequence, Mapping)):
        inner = value.content.all() if isinstance(value, Sequence) else value.values()
    elif isinstance(value, Either):
        inner = tuple(option for _, option in value.options)
    else:
        return value.flow
    flow = known.get(id(value))
    if flow is None:
        known[id(value)] = EMPTY  # a container may hold itself
        flows = [_carried(item, known) if item.__class__ in _HOLDING else item.flow for item in inner]
        flow = known[id(value)] = reduce(alternatives, flows) if isinstance(value, Either) else blend(flows)
    return flow


class Stream(Value):
    """What a loop goes through: `item` for each pass, or exactly `content`; `loader` when these are a loader's batches.

    `length` is how many items there are, by the script's own defaults (None: not known; infinite: it has no end).
    `bar` is the canonical name of the progress bar that it is at the same time ("": none). `whole`: it is all of the
    loader's batches, and nothing beside them ends it. `step` is how far the numbers of a range lie apart.
    """

    __slots__ = ("bar", "content", "item", "length", "loader", "step", "whole")

    def __init__(
        self,
        item: Value,
        content: Content | None = None,
        loader: int = 0,
        *,
        length: float | None = None,
        bar: str = "",
        whole: bool = False,
        step: Symbol | None = None,
    ) -> None:
        self.whole = whole
        self.step = step
        exact = content is not None and content.rest is None
        self.bar = bar
        self.item = item
        self.content = content
        self.length = len(content.items) if content is not None and exact else length
        self.loader = loader

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the item
        """What an item carries."""
        return self.item.flow


class Spread(Value):
    """A starred argument whose number of items is not known."""

    __slots__ = ("content",)

    def __init__(self, content: Content) -> None:
        self.content = content
