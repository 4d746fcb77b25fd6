"""Training and evaluation mode of modules and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import layers
from torch_doctor.static.training.module import library_models, module_parts
from torch_doctor.static.values import (
    Either,
    Fact,
    Mode,
    Module,
    Object,
    ParameterValue,
    Value,
)
from torch_doctor.static.values.mode import one_of
from torch_doctor.trace import ModeSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri

    Cares = tuple[Tri, Tri]  # whether a part cares about the mode, and whether it is in training mode


class FollowedCall(Knowledge):
    """What the call of a module that is being followed has come to: an object, whose fact `CARED` each path has its own of."""

    call: Object | None = per_run()


def set_mode(run: Run, module: Module, training_: Tri, node: p.Node, name: str) -> None:
    """`train()` and `eval()`."""
    put(run, module, training_)
    parts = module_parts.parts_of(run, module).parts
    norms = frozenset(part.id for part in (module, *parts) if part.layer in layers.BATCH_NORMS)
    around = frozenset(_around(module))
    told = {"whole": _whole(run, module), "norms": norms, "part_of": around}
    run.emit(ModeSet, node, module=module.id, name=name, training=training_, **told)


def _around(module: Module) -> Iterator[int]:
    """The modules that a module is a part of."""
    seen: set[int] = set()
    owner = module.fact(Fact.OWNER)
    while isinstance(owner, Module) and owner.id not in seen:
        seen.add(owner.id)
        yield owner.id
        owner = owner.fact(Fact.OWNER)


def put(run: Run, module: Module, training_: Tri) -> None:
    """Somebody puts a module in this mode; where it is one of many, each of these may be in it."""
    for each in module.fact(Fact.STANDS_FOR):
        if own_mode(run, each).training is not training_:
            run.heap.set(each.facts, Fact.MODE, Mode(next(run.stamps), None))
    run.heap.set(module.facts, Fact.MODE, Mode(next(run.stamps), training_))


def lost_sight(run: Run, modules: Iterable[int]) -> None:
    """Somebody out of sight got these, and may have set their mode, or frozen them."""
    for number in modules:
        thing = run.objects.get(number)
        if isinstance(thing, Module):
            put(run, thing, None)
            run.heap.set(thing.facts, Fact.FROZEN, None)
        elif isinstance(thing, ParameterValue):
            run.heap.set(thing.facts, Fact.FROZEN, None)


def _whole(run: Run, module: Module) -> bool:
    return not module.fact(Fact.REGISTERED)


def mode_of(run: Run, module: Module) -> tuple[Tri, Tri]:
    """Whether parts of a module care about the mode, and whether any of these is in training mode."""
    return judged(_caring(run, module), own_mode(run, module).training)


def judged(caring: Iterable[Cares], own: Tri) -> Cares:
    """Whether one of these cares about the mode, and whether any that does is in training mode; `own` where none does."""
    caring = list(caring)
    sensitive = module_parts.some(cares for cares, _ in caring) if caring else False
    modes = [mode for cares, mode in caring if cares is not False]
    if not modes:
        return sensitive, own
    if any(cares is True and mode is True for cares, mode in caring):
        return sensitive, True
    if all(mode is False for mode in modes):
        return sensitive, False
    return sensitive, True if all(mode is True for mode in modes) else None


def _caring(run: Run, module: Module) -> list[Cares]:
    """The parts of a module that care about the mode, or may."""
    caring: list[Cares] = []
    seen: set[int] = set()
    _collect_modes(run, module, _latest_mode(run, module), caring, seen)
    return caring


def followed(run: Run, call: Object) -> AbstractContextManager[None]:
    """What is called within is called by this call of a module."""
    return run.of(FollowedCall).override(call=call)


def met(run: Run, caring: Iterable[Cares]) -> None:
    """The call that is being followed has come to parts that care about the mode."""
    call = run.of(FollowedCall).call
    if call is not None:
        before: frozenset[Cares] = call.fact(Fact.CARED)
        run.heap.set(call.facts, Fact.CARED, before.union(caring))


def met_whole(run: Run, modules: Iterable[Module], *, surely: bool = False) -> None:
    """It has come to modules of which nobody can see what they call: all their parts may be among it, or surely are.

    What is no part of the module that was called has a mode of its own, which nobody sets with that of the whole.
    """
    if run.of(FollowedCall).call is not None:
        for module in modules:
            caring = _caring(run, module)
            if caring and _belongs(run, module):
                met(run, caring if surely else [(cares and None, mode) for cares, mode in caring])


def _belongs(run: Run, module: Module) -> bool:
    """Whether it is a part of the module that the script calls, or that module."""
    if not run.modules_called:
        return True
    root = run.modules_called[0].id
    return module.id == root or any(
        part.id == module.id for part in module_parts.parts_of(run, run.modules_called[0]).parts
    )


def set_on(run: Run, module: Module) -> Mode:
    """The mode that was last set on a module itself, on the path that is being followed."""
    value: Value = module.fact(Fact.MODE)
    if isinstance(value, Either):
        value = run.resolve(value)
        if isinstance(value, Either):
            return one_of(option for _, option in value.options if isinstance(option, Mode))
    return value if isinstance(value, Mode) else Mode(next(run.stamps), None)


def own_mode(run: Run, module: Module) -> Mode:
    """The mode that was last set on a module or on one that it is part of."""
    mode = set_on(run, module)
    owner = module.fact(Fact.OWNER)
    seen = {module.id}
    while isinstance(owner, Module) and owner.id not in seen:
        seen.add(owner.id)
        set_there = set_on(run, owner)
        if set_there.stamp > mode.stamp:
            mode = set_there
        owner = owner.fact(Fact.OWNER)
    return mode


def _collect_modes(run: Run, module: Module, inherited: Mode, caring: list[Cares], seen: set[int]) -> None:
    if module.id in seen or len(seen) > module_parts.PARTS:
        return
    seen.add(module.id)
    own = set_on(run, module)
    mode = inherited if inherited.stamp > own.stamp else own
    cares = True if module.fact(Fact.READS_MODE) else _cares_itself(run, module)
    if cares is not False:
        caring.append((cares, mode.training))
    for child in module_parts.members_of(module):
        if isinstance(child, Module):
            _collect_modes(run, child, mode, caring, seen)
        elif not isinstance(child, ParameterValue):
            caring.append((None, mode.training))


def _cares_itself(run: Run, module: Module) -> Tri:
    """Whether it cares apart from the parts that are in sight; one of a library does not when the script replaced what cares."""
    model = library_models.library_model(run, module.layer) if module.sensitive and module.cls is None else None
    if model is None or not model.part or model.part not in module.fields:
        return module.sensitive
    part = run.resolve(module.fields[model.part])
    if isinstance(part, Module):
        return module.sensitive if part.fact(Fact.BY_NAME) else False
    return None


def current_mode(run: Run, module: Module) -> Tri:
    """`module.training`, the modules whose forward is being executed included."""
    return _latest_mode(run, module).training


def _latest_mode(run: Run, module: Module) -> Mode:
    """The mode that was last set on a module, on one that it is part of, or on one whose forward calls it.

    Several may share a part: each sets the mode of it.
    """
    modes = [own_mode(run, module), *(set_on(run, caller) for caller in run.modules_called)]
    return max(modes, key=lambda mode: mode.stamp)
