"""What a module consists of: submodules and parameters, registered, listed, or out of sight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from torch_doctor.static.flow import NONE
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import layers, losses
from torch_doctor.static.tables.methods import TAKEN
from torch_doctor.static.values import (
    Content,
    Either,
    Fact,
    FunctionValue,
    Instance,
    Mapping,
    Module,
    Object,
    ParameterValue,
    Sequence,
    Unknown,
    UnknownAttribute,
    UnknownName,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


class Trees(Lasting):
    """What modules consist of."""

    known: dict[int, tuple[int, Inside]] = per_run(
        dict
    )  # by their numbers, with the structure of the heap for which it holds


PARTS = 400
"""Items of a container, and modules whose mode is asked for, that are looked at one by one."""
MOST_PARTS = 2000
"""Parts of a module that are looked at: of a larger one, some are out of sight."""


class Inside(Struct, frozen=True):
    """What a module consists of: its parts (itself first), whether some are out of sight, and who owns parameters."""

    parts: tuple[Module, ...]
    opaque: bool
    owners: frozenset[int]


def parts_of(run: Run, module: Module) -> Inside:
    """What a module consists of."""
    cached = run.of(Trees).known.get(module.id)
    if cached is not None and cached[0] == run.heap.structure:
        return cached[1]
    parts: dict[int, Module] = {}
    owners: set[int] = {module.id}
    opaque = False
    waiting = [module]
    while waiting and len(parts) < MOST_PARTS:
        part = waiting.pop()
        if part.id in parts:
            continue
        parts[part.id] = part
        if has_parameters(run, part) is not False:
            owners.add(part.id)
        if part.cls is None and not part.layer:
            opaque = True
        for child in members_of(part):
            if isinstance(child, Module):
                waiting.append(child)
            elif isinstance(child, ParameterValue):
                owners.add(child.id)
            else:
                opaque = True
    result = Inside(tuple(parts.values()), opaque or bool(waiting), frozenset(owners))
    run.of(Trees).known[module.id] = (run.heap.structure, result)
    return result


def has_parameters(run: Run, part: Module) -> Tri:
    """Whether a module owns parameters itself, apart from its parts."""
    if part.table is not None:
        return part.table.parameters
    if part.fact(Fact.BY_NAME):
        return None  # a part or a method, and nobody knows of which sort
    if part.layer in layers.CONTAINERS or part.layer in losses.LOSSES:
        return False
    if part.cls is not None and part.sensitive is False:
        return False  # its own bases are in sight: what it has lies in its parts
    return None if part.sensitive is None and part.cls is not None else True


def with_parts(run: Run, modules: frozenset[int]) -> frozenset[int]:
    """These modules and all in them that owns parameters."""
    found: set[int] = set(modules)
    for number in modules:
        thing = run.objects.get(number)
        if isinstance(thing, Module):
            found |= parts_of(run, thing).owners
    return frozenset(found)


def trainable(run: Run, module: Module) -> Tri:
    """Whether it has parameters that require gradients."""
    inside = parts_of(run, module)
    found: list[Tri] = []
    for part in inside.parts:
        has = has_parameters(run, part)
        if has is not False:
            frozen = part.fact(Fact.FROZEN)
            found.append(False if frozen is True else None if frozen is None or has is None else True)
    bare = inside.owners - {part.id for part in inside.parts}
    found.extend(requires_gradients(run, (number,)) for number in bare)
    if module.fact(Fact.TRAINED):
        return True
    if module.fact(Fact.FROZEN) is None:
        return None
    if found:
        return some(found)
    return None if inside.opaque and module.fact(Fact.FROZEN) is not True else False


def requires_gradients(run: Run, owners: Iterable[int]) -> Tri:
    """Whether parameters that these own require gradients: True where one does."""
    things = (run.objects.get(number) for number in owners)
    frozen = (False if thing is None else thing.fact(Fact.FROZEN) for thing in things)
    return some(None if each is None else not each for each in frozen)


def may_be_frozen(run: Run, module: Module) -> bool:
    """Whether the script said of all its parameters that they require no gradients, whatever became of them out of sight."""
    inside = parts_of(run, module)
    owners = [run.objects.get(number) for number in inside.owners | ({module.id} if inside.opaque else NONE)]
    may = (Fact.MAY_BE_FROZEN, Fact.FROZEN_IN_PASSING)
    return bool(owners) and all(owner is not None and any(map(owner.fact, may)) for owner in owners)


def trains(run: Run, module: Module) -> Tri:
    """Whether gradients flow to parameters of it: its own, or those of layers that it holds without registering them."""
    own = trainable(run, module)
    return True if own is False and any(_hides_layers(run, part) for part in parts_of(run, module).parts) else own


def _hides_layers(run: Run, module: Module) -> bool:
    """Whether a plain container of it holds what trains: an optimizer does not see it, autograd does."""
    plain = (value for value in module.fields.values() if isinstance(value, (Sequence, Mapping)))
    inside = (each for value in plain for each in members(value))
    return any(not isinstance(each, Module) or trainable(run, each) is True for each in inside)


def members_of(module: Module) -> Iterator[Value]:
    """The modules and parameters among a module's attributes and items; other values that may be modules too."""
    for value in module.fields.values():
        if value.__class__ in _BRINGING:
            yield from children(value)
    for name in module.fact(Fact.MEANT):
        yield from members(module.fields.get(name))
    content = listed(module)
    for item in content.all() if content is not None else ():
        yield from (item,) if isinstance(item, Unknown) else children(item)


_BRINGING = frozenset((Module, ParameterValue, Either, Unknown, UnknownAttribute, Instance))
"""The classes of values that may have any, for a glance at all attributes."""


def children(value: Any) -> list[Value]:
    """The modules and parameters that an attribute's value brings; other values that may be modules too."""
    if isinstance(value, (Module, ParameterValue)):
        return [value]
    if isinstance(value, Either):
        return [child for _, option in value.options for child in children(option)]
    if isinstance(value, Unknown) and any(True for _ in value.holds):
        return [value]
    if isinstance(value, Instance) and value.cls.opaque_base():
        return [value]
    return []


def members(value: Value | None, depth: int = 2) -> list[Object]:
    """The modules and parameters that lie in an item of a plain container."""
    if isinstance(value, Module) or (isinstance(value, ParameterValue) and value.declared):
        return [value]
    if isinstance(value, Either):
        return [member for _, option in value.options for member in members(option, depth)]
    if depth and isinstance(value, Sequence):
        return [member for item in value.content.all() for member in members(item, depth - 1)]
    if depth and isinstance(value, Mapping):
        return [member for item in value.values() for member in members(item, depth - 1)]
    return []


def fits(container: Sequence | Mapping) -> bool:
    """Whether torch's own container takes the items of a plain one: each is one part, under a name that no method has."""
    if isinstance(container, Sequence):
        return not any(isinstance(item, (Sequence, Mapping)) for item in container.content.all())
    keys = [key[1] if isinstance(key, tuple) else None for key in container.fields]
    named = all(isinstance(key, str) and key and "." not in key and key not in TAKEN for key in keys)
    return named and not any(isinstance(item, (Sequence, Mapping)) for item in container.values())


def some(answers: Any) -> Tri:
    """Whether one of these holds: True when one does, None when none does but one is not known."""
    found = list(answers)
    return True if True in found else None if None in found else False


def listed(module: Module) -> Content | None:
    """The children of a module that is a list of modules; None for any other."""
    content: Content | None = module.fact(Fact.LISTED)
    return content


def method_of(thing: Module | Instance, name: str) -> FunctionValue | None:
    """The method of this name that a class of the project defines, or inherits from one; None for any other."""
    found = thing.cls.find(name) if thing.cls is not None else None
    return found[0] if found is not None and isinstance(found[0], FunctionValue) else None


NUMBERED = frozenset(("torch.nn.Sequential", "torch.nn.ModuleList"))
"""Lists whose modules are called by their numbers."""


def named(module: Module) -> list[tuple[str, Module | ParameterValue]] | None:
    """The parts of a module with their names; None where some are not known."""
    content = listed(module)
    found: list[tuple[str, Module | ParameterValue]] = []
    if content is not None:
        fields = {id(value) for value in module.fields.values()}
        unnamed = [(str(i), each) for i, each in enumerate(content.items) if id(each) not in fields]
        if content.rest is not None or (unnamed and module.layer not in NUMBERED):
            return None
        found = [(name, each) for name, each in unnamed if isinstance(each, (Module, ParameterValue))]
        if len(found) < len(unnamed):
            return None
    for name, value in module.fields.items():
        if isinstance(value, (Module, ParameterValue)):
            if not isinstance(name, str) or isinstance(name, UnknownName):
                return None
            found.append((name, value))
        elif isinstance(value, Either) and children(value):
            return None
    known = {id(value) for _, value in found}
    return found if all(id(each) in known for each in members_of(module)) else None


def paths(module: Module) -> dict[int, str]:
    """What the modules in a module are called in its `named_modules()`, by their numbers; where that is known."""
    found = {module.id: ""}
    waiting = [module]
    while waiting and len(found) < PARTS:
        holder = waiting.pop()
        before = f"{found[holder.id]}." if found[holder.id] else ""
        for name, part in named(holder) or ():
            if isinstance(part, Module) and part.id not in found:
                found[part.id] = f"{before}{name}"
                waiting.append(part)
    return found
