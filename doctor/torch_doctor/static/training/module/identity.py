"""What identifies modules, the parameters in containers, and the names that a script has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.program.walking import walk
from torch_doctor.static.values import Making, Mapping, Module, Object, Params, Sequence, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.values import Args, Value
    from torch_doctor.static.values.functions import Frame
    from torch_doctor.trace import Scope, Site

Key: TypeAlias = "tuple[object, ...]"
"""What identifies a name: the object that has it, the name, and a key or an index within it."""
Thing: TypeAlias = "int | frozenset[int]"
"""A module, by its number, or the owners of parameters in a container."""

_SAME_MEMORY = frozenset(("detach", "view_as", "view", "data"))
_MIXING = _SAME_MEMORY | {"+", "-", "*", "/", "add", "sub", "mul", "div", "lerp", "clone", "to", "float"}


class Alias(Struct, frozen=True):
    """Where a name got something that the script has under another name."""

    order: int
    site: Site
    name: str
    model: str
    parameters: bool
    several: bool
    source: Key | None


class Called(Struct, frozen=True):
    """A call of a module: as what, with what, in which pass of which loop."""

    module: int
    key: Key
    arguments: Args
    scope: Scope


def thing_of(value: object) -> Thing | None:
    """The module that a value is, or the owners of the parameters in it; None for anything else."""
    if isinstance(value, Module):
        return value.id
    if isinstance(value, Params):
        return value.modules if value.whole and value.modules and not value.among else None
    inside: tuple[object, ...] = ()
    if isinstance(value, Sequence):
        inside = value.content.all()
    elif isinstance(value, Mapping):
        inside = value.values()
    parts = [parameter_of(each) for each in inside]
    found = {each.modules if each is not None and each.single and not each.among else None for each in parts}
    return found.pop() if len(found) == 1 else None


def parameter_of(value: object, deep: int = 0) -> Params | None:
    """The parameters that a tensor has its memory from; with `deep`, those that it was computed of."""
    if isinstance(value, Params):
        return value
    made = value.meta if isinstance(value, Tensor) else None
    if not isinstance(made, Making) or made.name not in (_MIXING if deep else _SAME_MEMORY):
        return None
    found = [parameter_of(each, max(deep - 1, 0)) for each in (made.args if deep else made.args[:1])]
    return next((each for each in found if each is not None), None)


def items_of(key: Key, value: Value) -> Iterator[tuple[Key, Module]]:
    """The modules under known keys in a container."""
    pairs: list[tuple[object, object]] = []
    if isinstance(value, Mapping):
        pairs = [(field[-1], item) for field, item in value.fields.items() if isinstance(field, tuple)]
    elif isinstance(value, Sequence):
        pairs = list(enumerate(value.content.items))
    for name, item in pairs:
        if isinstance(item, Module):
            yield (*key, name), item


def key_of(frame: Frame, node: p.Expr) -> Key | None:
    """What identifies the variable or attribute that an expression is; None for other expressions, and where nobody knows."""
    if isinstance(node, p.Name):
        holder = frame.holder(node.id)
        return None if holder is None else _named_in(holder, frame, node.id)
    if isinstance(node, p.Attribute):
        owner = _value(frame, node.value)
        return (owner.id, node.name) if isinstance(owner, Object) else None
    if isinstance(node, p.Index):
        base = key_of(frame, node.value)
        return (*base, node.key.value) if base is not None and isinstance(node.key, p.Const) else base
    return None


def new_key(frame: Frame, node: p.Expr) -> Key | None:
    """The same for a variable that is about to be there."""
    return _named_in(frame, frame, node.id) if isinstance(node, p.Name) else None


def _named_in(holder: Object, frame: Frame, name: str) -> Key:
    return (frame.globals.id if holder.fields is frame.globals.fields else holder.id), name


def _value(frame: Frame, node: p.Expr) -> object:
    """What a variable or attribute has now."""
    if isinstance(node, p.Name):
        holder = frame.holder(node.id)
        return None if holder is None else holder.fields.get(node.id)
    if isinstance(node, p.Attribute):
        owner = _value(frame, node.value)
        return owner.fields.get(node.name) if isinstance(owner, Object) else None
    return None


def alike(kept: Called, learner: Called) -> bool:
    """Whether both calls are of one module, under two names, with the same, in the same pass of all loops."""
    return (
        kept.module == learner.module
        and kept.key != learner.key
        and len(kept.arguments) == len(learner.arguments)
        and all(one is other for one, other in zip(kept.arguments, learner.arguments, strict=True))
        and kept.scope.iterations() == learner.scope.iterations()
    )


def holders_in(node: p.Node) -> Iterator[p.Expr]:
    """The names and attributes that are read with a key, in an expression."""
    for each in walk(node):
        if isinstance(each, p.Index):
            yield each.value


def parameters_named(frame: Frame, node: p.Node, modules: frozenset[int]) -> Iterator[str]:
    """The variables in an expression that are parameters of these modules."""
    for each in walk(node):
        if isinstance(each, p.Name):
            part = parameter_of(_value(frame, each))
            if part is not None and part.modules == modules:
                yield each.id


def parted(aliases: dict[Key, Alias], key: Key | None, other: Key | None) -> Alias | None:
    """Where a name was given that another one does not come from: what was handed on since has the same thing."""
    before: set[Key] = set()
    while other is not None and other not in before:
        before.add(other)
        other = aliases[other].source if other in aliases else None
    found = None
    while key is not None and key in aliases and key not in before:
        before.add(key)
        found = aliases[key]
        key = found.source
    return found
