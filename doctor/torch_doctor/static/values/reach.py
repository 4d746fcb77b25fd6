"""Which objects someone who gets a value can reach."""

from __future__ import annotations

from typing import Any

from torch_doctor.static.values.callables import Bound, Method, Partial, Suspended
from torch_doctor.static.values.containers import Mapping, Sequence, Spread, Stream
from torch_doctor.static.values.facts import Fact
from torch_doctor.static.values.modules import Instance, Module, ParameterValue, Settings
from torch_doctor.static.values.objects import Optimizer, Tool
from torch_doctor.static.values.plain import Const, Default, Either, Lib, Number, Plain, Unknown, Zero
from torch_doctor.static.values.tensors import Grads, Params, Tensor


def held(values: Any, depth: int = 3) -> frozenset[int]:
    """The objects that someone who gets these values can reach: optimizers, modules and tools that hold them."""
    found: set[int] = set()
    for value in values:
        if value.__class__ not in _NOTHING:
            _reach(value, found, depth)
    return frozenset(found)


_NOTHING = frozenset((Const, Zero, Default, Plain, Number, Lib, Tensor))
"""The classes of values that hold nothing, which are by far the most."""


def _reach(value: Any, found: set[int], depth: int) -> None:
    if isinstance(value, (Optimizer, ParameterValue)):
        found.add(value.id)
    elif isinstance(value, Module):
        found.add(value.id)
        if value.cls is not None:
            found |= {item.id for item in value.fields.values() if isinstance(item, Optimizer)}
    elif isinstance(value, (Unknown, Tool)):
        found |= value.holds
    elif isinstance(value, (Params, Grads)):
        found |= value.modules
    elif isinstance(value, Method):
        _reach(value.of, found, depth)
    elif depth <= 0:
        return
    elif isinstance(value, Bound):
        _reach(value.self, found, depth - 1)
    elif isinstance(value, Either):
        for _, option in value.options:
            if option.__class__ not in _NOTHING:
                _reach(option, found, depth - 1)
    elif isinstance(value, (Sequence, Spread)):
        for item in value.content.all():
            if item.__class__ not in _NOTHING:
                _reach(item, found, depth - 1)
    elif isinstance(value, Stream):
        for item in (value.item, *(value.content.all() if value.content is not None else ())):
            if item.__class__ not in _NOTHING:
                _reach(item, found, depth - 1)
    elif isinstance(value, (Partial, Suspended)):
        for item in (value.func, *value.args, *value.keywords.values()):
            if item.__class__ not in _NOTHING:
                _reach(item, found, depth - 1)
    elif isinstance(value, (Mapping, Instance, Settings)):
        for item in value.fields.values():
            if item.__class__ not in _NOTHING:
                _reach(item, found, depth - 1)
        if isinstance(value, Instance):
            found |= value.fact(Fact.KEPT)
