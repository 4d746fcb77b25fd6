"""Training and evaluation mode of modules and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training import module_parts
from torch_doctor.static.values import (
    Fact,
    Module,
    ParameterValue,
)
from torch_doctor.trace import ModeSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


def set_mode(run: Run, module: Module, training_: Tri, node: p.Node, name: str) -> None:
    """`train()` and `eval()`."""
    run.heap.set(module.facts, Fact.MODE, (next(run.stamps), training_))
    run.emit(ModeSet, node, module=module.id, name=name, training=training_, whole=_whole(run, module))


def lost_sight(run: Run, modules: Iterable[int]) -> None:
    """Somebody out of sight got these, and may have set their mode, or frozen them."""
    for number in modules:
        thing = run.objects.get(number)
        if isinstance(thing, Module):
            run.heap.set(thing.facts, Fact.MODE, (next(run.stamps), None))
            run.heap.set(thing.facts, Fact.FROZEN, None)
        elif isinstance(thing, ParameterValue):
            run.heap.set(thing.facts, Fact.FROZEN, None)


def _whole(run: Run, module: Module) -> bool:
    return not module.fact(Fact.REGISTERED)


def mode_of(run: Run, module: Module) -> tuple[Tri, Tri]:
    """Whether parts of a module care about the mode, and whether any of these is in training mode."""
    caring: list[tuple[Tri, Tri]] = []
    seen: set[int] = set()
    _collect_modes(run, module, own_mode(run, module), caring, seen)
    sensitive = module_parts.some(cares for cares, _ in caring) if caring else False
    modes = [mode for cares, mode in caring if cares is not False]
    if not modes:
        return sensitive, own_mode(run, module)[1]
    if any(cares is True and mode is True for cares, mode in caring):
        return sensitive, True
    if all(mode is False for mode in modes):
        return sensitive, False
    return sensitive, True if all(mode is True for mode in modes) else None


def own_mode(run: Run, module: Module) -> tuple[int, Tri]:
    """The mode that was last set on a module or on one that it is part of."""
    mode: tuple[int, Tri] = module.fact(Fact.MODE)
    owner = module.fact(Fact.OWNER)
    seen = {module.id}
    while isinstance(owner, Module) and owner.id not in seen:
        seen.add(owner.id)
        mode = max(mode, owner.fact(Fact.MODE), key=lambda stamped: stamped[0])
        owner = owner.fact(Fact.OWNER)
    return mode


def _collect_modes(
    run: Run, module: Module, inherited: tuple[int, Tri], caring: list[tuple[Tri, Tri]], seen: set[int]
) -> None:
    if module.id in seen or len(seen) > module_parts.PARTS:
        return
    seen.add(module.id)
    own: tuple[int, Tri] = module.fact(Fact.MODE)
    mode = max(own, inherited, key=lambda stamped: stamped[0])
    cares: Tri = True if module.fact(Fact.READS_MODE) else module.sensitive
    if cares is not False:
        caring.append((cares, mode[1]))
    for child in module_parts.members_of(module):
        if isinstance(child, Module):
            _collect_modes(run, child, mode, caring, seen)
        elif not isinstance(child, ParameterValue):
            caring.append((None, mode[1]))


def current_mode(run: Run, module: Module) -> Tri:
    """`module.training`, the modules whose forward is being executed included."""
    modes = [own_mode(run, module)]
    modes += [caller.fact(Fact.MODE) for caller in run.modules_called]
    latest_mode: tuple[int, Tri] = max(modes, key=lambda stamped: stamped[0])
    return latest_mode[1]
