"""Layers and parameters in the plain containers of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    Fact,
    Mapping,
    Module,
    Object,
    ParameterValue,
    Sequence,
    held,
)
from torch_doctor.trace import Unregistered

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import ClassValue
    from torch_doctor.trace import Site, Tri


def report(run: Run, module: Module, cls: ClassValue, name: str, assigned: tuple[Site, object, bool]) -> None:
    """Write what a plain container among the attributes of a new module holds, and what became of that."""
    container = module.fields.get(name)
    if not isinstance(container, (Sequence, Mapping)):
        return  # it has become something else: a ModuleList, say
    items = container.content.all() if isinstance(container, Sequence) else container.values()
    members = [member for item in items for member in module_parts.members(item)]
    if not members:
        return
    site, function, wraps_one = assigned
    new = container.id > module.id
    made_elsewhere = new and container.function is not None and container.function is not function
    own = [member for member in members if member.id > module.id]
    run.emit(
        Unregistered,
        container.born if made_elsewhere and container.born is not None else site,
        owner=module.id,
        owner_class=cls.name,
        name=name,
        container=container.kind if isinstance(container, Sequence) else "dict",
        members=tuple(member.id for member in members),
        parameters=all(isinstance(member, ParameterValue) for member in members),
        trainable=module_parts.some(_matters(run, member) for member in members),
        passed_in=(new and not own) or (wraps_one and len(members) == 1),
        registered=cls.find("parameters") is not None  # it says itself what its parameters are
        or any(member.fact(Fact.REGISTERED) or _shares(run, module, member) for member in members),
        filled_at=container.fact(Fact.FILLED),
        fits=module_parts.fits(container),
    )


def _shares(run: Run, owner: Module, member: Object) -> bool:
    """Whether something that has parameters in a member is part of its owner, too: what is wrapped, or was taken out of it."""
    if not isinstance(member, Module):
        return False
    return not (_holds(run, member) - {member.id}).isdisjoint(_holds(run, owner))


def _holds(run: Run, module: Module) -> frozenset[int]:
    """What owns parameters in a module, or may be among its parts that are out of sight."""
    inside = module_parts.parts_of(run, module)
    unseen = (
        child for part in inside.parts for child in module_parts.members_of(part) if not isinstance(child, Object)
    )
    return inside.owners | held(unseen)


def _matters(run: Run, member: Object) -> Tri:
    """Whether hiding a member does harm: it has something to train, or a mode to set."""
    if isinstance(member, Module):
        trainable, (sensitive, mode) = module_parts.trainable(run, member), modes.mode_of(run, member)
        if (trainable is False or member.fact(Fact.FROZEN) is None) and (mode is not True or sensitive is False):
            return False  # frozen, or may be, and no mode changes what it does: it is hidden so that nobody trains it
        inside = module_parts.parts_of(run, member)
        bare = inside.owners - {part.id for part in inside.parts}
        if bare or any(module_parts.has_parameters(run, part) is True for part in inside.parts):
            return True
        return True if modes.mode_of(run, member)[0] is True else None if inside.opaque else False
    return True
