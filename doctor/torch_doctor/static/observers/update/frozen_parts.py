"""What is frozen and changes all the same: statistics of batch norm, and parameters that keep an old gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import layers, models
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.module import library_models, module_parts, written_forwards
from torch_doctor.static.values import ANY_NAME, Const, Fact, Method, Module, Optimizer, Value
from torch_doctor.trace import FrozenMoved, FrozenNormsRan

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site, Tri

_MOMENTUM, _AFFINE = 2, 3
"""Where the constructor of batch norm has them."""


class FrozenParts(Observer, calling=(Named(Method, ("zero_grad", "step")),)):
    """Calls of modules with frozen batch norm in training mode; steps with old gradients of what was frozen since."""

    writes = (FrozenNormsRan, FrozenMoved)

    _ran: list[FrozenNormsRan] = per_run(list)  # those of which all is frozen still
    _calls: set[tuple[int, Site]] = per_run(set)
    _fed: set[int] = per_run(set)  # what got a gradient on some path
    _moved: list[tuple[FrozenMoved, frozenset[int]]] = per_run(list)  # with what it moved, where that is frozen still
    _steps: set[int] = per_run(set)

    # --- batch norm ---

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """A whole module is called: look at the batch norms in it."""
        if run.modules_called:
            return
        self._look_for_thaw(run)
        event, site = written_forwards.last(run), run.site(call.node)
        if event is None or event.module != module.id or (module.id, site) in self._calls:
            return
        found = _frozen_norms(run, module)
        if found:
            since = found[0].fact(Fact.FLAGGED)
            parts = frozenset(n for n in module_parts.parts_of(run, module).owners if _frozen_at(run, n, since))
            self._calls.add((module.id, site))
            fields = {"forward": event.index, "module": module.id, "parts": parts, "since": since}
            self._ran.append(run.emit(FrozenNormsRan, site, norms=len(found), **fields))

    @override
    def left(self, run: Run, module: Module, call: Call, _: Value) -> None:
        """A call has ended: what its own forward puts into evaluation mode gathers nothing."""
        for event in [each for each in self._ran if each.module == module.id and each.site == run.site(call.node)]:
            if not run.modules_called and not _frozen_norms(run, module):
                self._ran.remove(event)
                run.trace.replace(event, thawed=True)

    def _look_for_thaw(self, run: Run) -> None:
        """Say of what no longer is surely frozen that it thawed."""
        here = run.may_have_happened
        for event in [each for each in self._ran if here(each) and not _frozen(run, each.parts)]:
            self._ran.remove(event)
            run.trace.replace(event, thawed=True)
        for pair in [each for each in self._moved if here(each[0]) and not _frozen(run, each[1])]:
            self._moved.remove(pair)
            run.trace.replace(pair[0], thawed=True)

    # --- old gradients ---

    @override
    def backward(self, run: Run, loss: Value, _: Call) -> None:
        """Gradients are computed, for what is not frozen."""
        self._look_for_thaw(run)
        for number in loss.flow.surely if loss.flow.graph is True else ():
            thing = run.objects.get(number)
            if thing is not None and thing.fact(Fact.FROZEN) is False and not thing.fact(Fact.MAY_BE_FROZEN):
                run.heap.set(thing.facts, Fact.GRADIENT, value=True)
                self._fed.add(number)

    @override
    def attribute_set(self, run: Run, __: Value, target: p.Attribute, ___: Value, ____: p.Node) -> None:
        """A gradient is set by hand: nobody knows of which parameters."""
        if target.name == "grad":
            _now(run, self._fed, None)

    @override
    def calling(self, run: Run, func: Value, call: Call) -> None:
        """Gradients are cleared, or an optimizer steps."""
        assert isinstance(func, Method)
        if func.name == "zero_grad":
            self._cleared(run, func.of, call)
        else:
            optimizer = next((each for each in (func.of, *call.args) if isinstance(each, Optimizer)), None)
            if optimizer is not None and optimizer.id not in self._steps and not optimizer.fact(Fact.SEVERAL):
                self._stepped(run, optimizer, call)

    def _cleared(self, run: Run, of: Value, call: Call) -> None:
        to_none = call.argument(0, "set_to_none")
        modules = of.modules if isinstance(of, Optimizer) else frozenset[int]()
        if isinstance(of, Module):
            modules = module_parts.parts_of(run, of).owners
        _now(run, self._fed & modules, False if isinstance(to_none, Const) and to_none.value is False else None)

    def _stepped(self, run: Run, optimizer: Optimizer, call: Call) -> None:
        """What was frozen since it got a gradient moves: by that, or by what the optimizer remembers."""
        had = ((number, run.objects.get(number)) for number in self._fed & optimizer.modules)
        things = [
            each for n, each in had if each and each.fact(Fact.GRADIENT) is not None and _frozen(run, frozenset((n,)))
        ]
        moved = frozenset(thing.id for thing in things)
        since = {thing.fact(Fact.FLAGGED) for thing in things}
        if len(since) == 1 and None not in since:
            self._steps.add(optimizer.id)
            zeroed = not any(thing.fact(Fact.GRADIENT) for thing in things)
            fields = {"optimizer": optimizer.id, "zeroed": zeroed, "since": since.pop()}
            self._moved.append((run.emit(FrozenMoved, call.node, **fields), moved))


def _now(run: Run, numbers: set[int], gradient: Tri) -> None:
    """What these have is a gradient of zeros from here on, where it was one (False), or none that is known of (None)."""
    for number in numbers:
        thing = run.objects.get(number)
        if thing is not None and thing.fact(Fact.GRADIENT) is not None:
            run.heap.set(thing.facts, Fact.GRADIENT, gradient)


def _frozen(run: Run, numbers: frozenset[int]) -> bool:
    """Whether all these surely require no gradients, by the script's own word."""
    things = [run.objects.get(number) for number in numbers]
    return all(each is not None and each.fact(Fact.FROZEN) is True and each.fact(Fact.MAY_BE_FROZEN) for each in things)


def _frozen_at(run: Run, number: int, since: Site) -> bool:
    thing = run.objects.get(number)
    return thing is not None and thing.fact(Fact.FLAGGED) == since and _frozen(run, frozenset((number,)))


def _frozen_norms(run: Run, module: Module) -> list[Module]:
    """The batch norms of a module that are in training mode, and frozen with other layers in one place of the script."""
    inside = module_parts.parts_of(run, module).parts
    if any(_told_otherwise(run, part) for part in inside if part.fact(Fact.BY_NAME)):
        return []
    parts = [part for part in inside if _frozen(run, frozenset((part.id,)))]
    of_library = (library_models.normalises, library_models.normalises_as_part)
    models_ = [part for part in parts if any(known(part) for known in of_library) and not _is_changed(part)]
    norms = [part for part in parts if _gathers(part)]
    others = {part.fact(Fact.FLAGGED) for part in parts if part.table is not None and part.layer not in _NORMS}
    norms = [part for part in norms if part.fact(Fact.FLAGGED) in others]
    found = [part for part in (*models_, *norms) if _trains(run, part, module)]
    return [part for part in found if part.fact(Fact.FLAGGED) is not None]


_NORMS = layers.BATCH_NORMS


def _gathers(part: Module) -> bool:
    """Whether it is torch's own batch norm, gathers statistics, and has parameters that were frozen."""
    if part.cls is not None or part.layer not in _NORMS or part.sensitive is not True or "**" in part.settings:
        return False
    if _is_changed(part):
        return False
    given = [
        part.settings.get(name, part.given[at] if len(part.given) > at else None)
        for name, at in (("momentum", _MOMENTUM), ("affine", _AFFINE))
    ]
    return all(each is None or (isinstance(each, Const) and bool(each.value)) for each in given)


def _is_changed(part: Module) -> bool:
    """Whether the script sets by hand what it gathers, and how much."""
    return not part.fields.keys().isdisjoint(("track_running_stats", "momentum", "running_mean", "running_var"))


def _told_otherwise(run: Run, part: Module) -> bool:
    """Whether what stands for any part, as in a loop over all, or for one out of sight, trains or evaluates by itself."""
    if models.parts(part.fact(Fact.PART_OF)).get(part.name) is False:
        return False  # it has no batch norm
    told = part.name == ANY_NAME or part.fact(Fact.FROZEN) is None or part.fact(Fact.FLAGGED) is not None
    return (
        _is_changed(part)
        or (told and not _frozen(run, frozenset((part.id,))))
        or modes.own_mode(run, part).training is not True
    )


def _trains(run: Run, part: Module, root: Module) -> bool:
    """Whether it is in training mode, with what else the script has told to train: not by itself, which is on purpose."""
    mode = modes.own_mode(run, part)
    told = part
    while (
        told is not root and modes.set_on(run, told).stamp != mode.stamp and isinstance(told.fact(Fact.OWNER), Module)
    ):
        told = told.fact(Fact.OWNER)
    by_itself = mode.stamp and told is not root and _frozen(run, _weighty(run, told))
    return mode.training is True and not by_itself


def _weighty(run: Run, module: Module) -> frozenset[int]:
    """What owns parameters in a module."""
    inside = module_parts.parts_of(run, module)
    return inside.owners - {part.id for part in inside.parts if module_parts.has_parameters(run, part) is False}
