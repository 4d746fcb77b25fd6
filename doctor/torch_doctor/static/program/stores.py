"""What a function may change beside its own variables: attributes by their names, and variables around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.static.program.expressions import Attribute, Display, Name, Star
from torch_doctor.static.program.statements import Assign, Augment, Delete, For, Outer, With
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.program.functions import Function
    from torch_doctor.static.program.node import Node


class Stores(NamedTuple):
    """What functions name and store.

    `names` are all names that are read, `attributes` those of attributes that are assigned, whatever they belong to, and
    `outer` the variables around that are declared `global` or `nonlocal`.
    """

    names: frozenset[str]
    attributes: frozenset[str]
    outer: frozenset[str]


def stores_of(function: Function) -> Stores:
    """Return what a function names and stores, including the functions that are defined inside it."""
    names, attributes, outer = set[str](), set[str](), set[str]()
    for node in walk(function.body, function.decorators):
        if isinstance(node, Name):
            names.add(node.id)
        elif isinstance(node, Outer):
            outer.update(node.names)
        else:
            attributes.update(_attributes(_targets(node)))
    return Stores(frozenset(names), frozenset(attributes), frozenset(outer))


def _targets(node: Node) -> list[object]:
    if isinstance(node, (Assign, Delete)):
        return list(node.targets)
    if isinstance(node, (Augment, For, With)):
        return [node.target]
    return []


def _attributes(targets: list[object]) -> Iterator[str]:
    """The names of the attributes among some targets."""
    for target in targets:
        if isinstance(target, Attribute):
            yield target.name
        elif isinstance(target, Display):
            yield from _attributes(list(target.items))
        elif isinstance(target, Star):
            yield from _attributes([target.value])
