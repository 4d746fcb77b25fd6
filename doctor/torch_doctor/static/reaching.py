"""What a call can come to by what it is given and by the names in its code, without executing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.program.stores import Stores, stores_of
from torch_doctor.static.values import (
    Bound,
    ClassValue,
    Content,
    Either,
    Fact,
    FunctionValue,
    Instance,
    Mapping,
    Module,
    Namespace,
    Partial,
    Sequence,
    Suspended,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.values import Object

MOST = 2_000
"""Values that are looked at; what lies behind them is left out."""


class Reached:
    """The code and the things that a call can come to.

    `functions` are those of the project, `things` what holds state: objects, modules, containers, and whatever has no parts.
    """

    def __init__(self, *values: Value) -> None:
        self.functions: dict[FunctionValue, Stores] = {}
        self.things: list[Value] = []
        self._seen: dict[int, Value] = {}
        self._waiting: list[Value] = list(values)
        while self._waiting and len(self._seen) < MOST:
            value = self._waiting.pop()
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                self._waiting += self._behind(value)

    @property
    def attributes(self) -> frozenset[str]:
        """The names of attributes that the code assigns."""
        return frozenset().union(*(stores.attributes for stores in self.functions.values()))

    def variables(self) -> Iterator[tuple[Object, str]]:
        """The variables around its functions that the code assigns, each with what holds it."""
        for function, stores in self.functions.items():
            for name in stores.outer:
                holder = function.closure.holder(name)
                if holder is not None:
                    yield holder, name

    def _behind(self, value: Value) -> Iterable[Value]:
        if isinstance(value, FunctionValue):
            return self._named(value)
        if isinstance(value, ClassValue):
            return [each for cls in value.mro() if isinstance(cls, ClassValue) for each in _values(cls)]
        if isinstance(value, Bound):
            return value.function, value.self
        if isinstance(value, (Partial, Suspended)):
            return value.func, *value.args, *value.keywords.values()
        if isinstance(value, Either):
            return [option for _, option in value.options]
        self.things.append(value)
        if isinstance(value, Sequence):
            return value.content.all()
        if isinstance(value, Mapping):
            return value.values()
        if isinstance(value, (Instance, Module)):
            return [*_values(value), *(() if value.cls is None else (value.cls,)), *_listed(value)]
        return ()

    def _named(self, function: FunctionValue) -> Iterator[Value]:
        """What a function finds under the names in its code."""
        stores = self.functions[function] = stores_of(function.node)
        for name in stores.names:
            holder = function.closure.holder(name)
            value = None if holder is None else holder.fields.get(name)
            if isinstance(value, Namespace):
                parts = (value.fields.get(attribute) for attribute in function.node.uses.get(name, ()))
                yield from (part for part in parts if isinstance(part, Value))
            elif isinstance(value, Value):
                yield value


def _values(thing: Object) -> list[Value]:
    return [field for field in thing.fields.values() if isinstance(field, Value)]


def _listed(value: Value) -> tuple[Value, ...]:
    """The members of a module that is a list of modules."""
    content = value.fact(Fact.LISTED) if isinstance(value, Module) else None
    return content.all() if isinstance(content, Content) else ()
