"""States of modules that are kept: whose tensors they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_path
from torch_doctor.static.values import Either, Making, Mapping, Module, Tensor, Value
from torch_doctor.trace import StateTaken

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class StateTensors(Lasting):
    """Tensors of state dicts."""

    taken: MutableMapping[int, tuple[Tensor, int]] = per_path(dict)  # by id, with the event that took them


DEEP = 2  # dicts within dicts that a state is looked for in


class States(Struct, frozen=True):
    """The `StateTaken` events whose tensors a value may have, and whether it surely has no others."""

    taken: frozenset[int]
    only: bool


NONE = States(frozenset(), only=False)


def state_of(run: Run, module: Module, node: p.Node, receiver: str) -> Mapping:
    """A module's state dict: its tensors have no graph, stand under names that are not known, and are the module's own."""
    mapping: Mapping = run.own(Mapping(run.site(node)))
    tensor = mapping.fields["rest"] = Tensor(meta=Making("state", (module,)))
    event = run.emit(StateTaken, node, module=module.id, name=receiver)
    run.of(StateTensors).taken[id(tensor)] = (tensor, event.index)
    return mapping


def states_in(run: Run, value: Value, depth: int = DEEP) -> States:
    """Whose tensors are in a value, or in a dict within it."""
    if isinstance(value, Either):
        found = [states_in(run, option, depth) for _, option in value.options]
        return States(frozenset().union(*(each.taken for each in found)), all(each.only for each in found))
    if isinstance(value, Tensor):
        known = run.of(StateTensors).taken.get(id(value))
        return States(frozenset() if known is None else frozenset((known[1],)), known is not None)
    if depth and isinstance(value, Mapping):
        items = [item for item in value.fields.values() if isinstance(item, Value)]
        found = [states_in(run, item, depth - 1) for item in items]
        return States(frozenset().union(*(each.taken for each in found)), bool(found) and all(e.only for e in found))
    return NONE
