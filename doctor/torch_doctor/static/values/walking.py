"""The one walk through values that hold others, and the one way to build them anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values.callables import Bound, Method, Partial, Suspended
from torch_doctor.static.values.containers import Content, Mapping, Sequence
from torch_doctor.static.values.joining import either
from torch_doctor.static.values.modules import Instance, Module, Settings
from torch_doctor.static.values.plain import Either
from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Final


def leaves(
    *values: Value,
    decided: Callable[[Value], Value] | None = None,
    more: dict[type[Value], Callable[[Any], tuple[Value, ...]]] | None = None,
) -> Iterator[Value]:
    """What lies in these values and holds no others, in order: containers and alternatives are taken apart.

    Each container is looked at once, however often it is in there; one may hold itself. `decided` says what a value is on the
    current path, and `more` what lies in further kinds of values.
    """
    containers = _CONTAINERS if more is None else {**_CONTAINERS, **more}
    seen: dict[int, Value] = {}  # they are kept: nothing else gets their numbers meanwhile
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if decided is not None:
            value = decided(value)
        inside = containers.get(value.__class__)
        if inside is None:
            yield value
        elif id(value) not in seen:
            seen[id(value)] = value
            waiting.extend(reversed(inside(value)))


def reachable(values: Iterable[Value], depth: int = 2, closed: tuple[type[Value], ...] = ()) -> Iterator[Value]:
    """What someone who gets these values can reach: what is in them, and what these hold, so many steps deep.

    Each is looked at once, the nearest first. What is in those of the `closed` types is left out.
    """
    seen: set[int] = set()
    level = list(values)
    for left in range(depth, -1, -1):
        inner: list[Value] = []
        for value in level:  # it grows: a method is no step away from its receiver
            if id(value) in seen:
                continue
            seen.add(id(value))
            yield value
            if isinstance(value, (Method, Bound)):
                level.append(value.of if isinstance(value, Method) else value.self)
            elif left and value.__class__ not in closed and (inside := _HOLDERS.get(value.__class__)) is not None:
                inner += inside(value)
        level = inner


def rebuilt(value: Value, change: Callable[[Value], Value], own: Callable[[Any], Any]) -> Value:
    """The value with each of its leaves changed; `own` takes the containers that are made for it."""
    if isinstance(value, Either):
        return either((facts, rebuilt(option, change, own)) for facts, option in value.options)
    if isinstance(value, Sequence):
        content = value.content
        items = tuple(rebuilt(item, change, own) for item in content.items)
        rest = None if content.rest is None else rebuilt(content.rest, change, own)
        made: Value = own(Sequence(value.kind, Content(items, rest), value.born, value.function))
        return made
    if isinstance(value, Mapping):
        mapping: Mapping = own(Mapping(value.born, value.function))
        for key, item in value.fields.items():
            mapping.fields[key] = rebuilt(item, change, own)
        return mapping
    return change(value)


def _in_sequence(value: Sequence) -> tuple[Value, ...]:
    return value.content.all()


def _in_options(value: Either) -> tuple[Value, ...]:
    return tuple(option for _, option in value.options)


def _in_partial(value: Partial | Suspended) -> tuple[Value, ...]:
    return (value.func, *value.args, *value.keywords.values())


def _in_fields(value: Instance | Module | Settings) -> tuple[Value, ...]:
    return tuple(field for field in value.fields.values() if isinstance(field, Value))


_CONTAINERS: Final[dict[type[Value], Callable[[Any], tuple[Value, ...]]]] = {
    Sequence: _in_sequence,
    Mapping: Mapping.values,
    Either: _in_options,
}
_HOLDERS: Final[dict[type[Value], Callable[[Any], tuple[Value, ...]]]] = {
    **_CONTAINERS,
    Partial: _in_partial,
    Suspended: _in_partial,
    Instance: _in_fields,
    Module: _in_fields,
    Settings: _in_fields,
}
