"""What is done where a figure is kept, or is not: a model is saved or copied, or a counter goes on to the end of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from torch_doctor.static.program.expressions import Attribute, Call, Index, Name
from torch_doctor.static.program.statements import Augment, If, Return
from torch_doctor.static.program.using import path_of
from torch_doctor.static.program.walking import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch_doctor.static.program.node import Node

    IsData: TypeAlias = Callable[[str], bool]

_WEIGHTS: Final = frozenset(("state_dict", "parameters", "named_parameters", "copyfile", "copy_weights"))
_MODELS: Final = ("checkpoint", "ckpt", "model", "weight", "state", "network")
"""What the names of functions that save models speak of, those of the project or of a library."""


def keeps_model(arm: tuple[Node, ...], is_data: IsData) -> bool:
    """Return whether statements save or copy a model; what only saves numbers, tensors or pictures keeps none."""
    return any(isinstance(node, Call) and _keeps(node, is_data) for node in walk(*arm))


def _keeps(call: Call, is_data: IsData) -> bool:
    name = path_of(call.func).rpartition(".")[2] if isinstance(call.func, (Name, Attribute)) else ""
    lowered = name.lower()
    if name in _WEIGHTS or ("save" in lowered and any(word in lowered for word in _MODELS)) or "checkpoint" in lowered:
        return True
    if name not in ("save", "deepcopy", "dump"):
        return False
    holder = path_of(call.func.value) if isinstance(call.func, Attribute) else ""
    if not call.args or (name == "save" and holder.partition(".")[0] in ("self", "trainer", "model", "net")):
        return not call.args or not is_data(holder)
    return any(not is_data(each) for each in _whole_names(call.args[0]))


def _whole_names(node: Node) -> Iterator[str]:
    """The variables that an expression has as they are: neither their items nor their methods."""
    inner = {id(part) for each in walk(node) if isinstance(each, (Index, Attribute)) for part in walk(each)}
    yield from (each.id for each in walk(node) if isinstance(each, Name) and id(each) not in inner)
    yield from (path_of(each) for each in walk(node) if isinstance(each, Attribute) and _is_last(node, each))


def _is_last(node: Node, attribute: Attribute) -> bool:
    """Whether an attribute is no method that is called, and no part of another expression of names."""
    used = (
        each.func if isinstance(each, Call) else each.value
        for each in walk(node)
        if isinstance(each, (Call, Index, Attribute))
    )
    return all(each is not attribute for each in used)


def counts_to_the_end(nodes: Iterable[Node], arm: tuple[Node, ...]) -> bool:
    """Return whether statements count on, and the count decides when something ends: patience."""
    counted = {path_of(node.target) for node in walk(*arm) if isinstance(node, Augment)} - {""}
    return bool(counted) and any(
        not counted.isdisjoint(_paths(test))
        for test in (
            node.test if isinstance(node, If) else node.value for node in nodes if isinstance(node, (If, Return))
        )
        if test is not None
    )


def _paths(node: Node) -> set[str]:
    return {path_of(each) for each in walk(node) if isinstance(each, (Name, Attribute))}
