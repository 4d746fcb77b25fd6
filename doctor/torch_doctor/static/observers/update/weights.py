"""Where the weights that are trained come from: drawn by their constructor, or given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import NONE
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.tables import training
from torch_doctor.static.training.checkpoint import snapshots
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import ANY_NAME, Const, Fact, Lib, Module, Object, ParameterValue, Params, Tensor, Value
from torch_doctor.trace import PartUnrecorded, StateTaken, WeightsDrawn, WeightsGiven

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call
    from torch_doctor.trace import Site

_INIT = "torch.nn.init."
_ASSIGNED = ("weight", "bias", ANY_NAME)


class Weights(
    Observer,
    read=(Module,),
    called=(Named(Lib, lambda name: name.startswith(_INIT) or name in training.COPIES),),
):
    """Layers and parameters that get gradients as they were built, and those that get other numbers."""

    writes = (WeightsDrawn, WeightsGiven, PartUnrecorded)

    _inner: set[int] = per_run(set)  # made in a constructor
    _passing: set[int] = per_run(set)  # made in a forward
    _off: MutableMapping[Module, tuple[Site, str]] = per_path(
        dict
    )  # parts that were called with autograd off, and where

    @override
    def built(self, run: Run, made: Object, _: Call) -> None:
        """A module was constructed: within another's constructor it is there for that one, within a forward for that call."""
        if run.modules_called:
            self._passing.add(made.id)
        elif run.building:
            self._inner.add(made.id)

    @override
    def entered(self, run: Run, module: Module, call: Call) -> None:
        """A module is called: where autograd may record, gradients of what it computes go to its weights."""
        if run.grad is not False:
            run.heap.set(module.facts, Fact.RECORDED, value=True)
        elif run.modules_called and run.modules_called[0].fact(Fact.RECORDED):
            self._off.setdefault(module, (run.site(call.node), call.name))

    @override
    def read(self, run: Run, value: Value, name: str, __: p.Node) -> None:
        """A parameter is taken from its module."""
        part = value.fields.get(name) if isinstance(value, Module) else None
        if isinstance(part, ParameterValue):
            run.heap.set(part.facts, Fact.RECORDED, value=True)

    @override
    def backward(self, run: Run, loss: Value, _: Call) -> None:
        """Write what gets gradients, ran, and has the weights that it was built with."""
        for number in sorted((loss.flow.surely or loss.flow.modules) - self._passing):
            thing = run.objects.get(number)
            if thing is None or thing.born is None or not thing.fact(Fact.RECORDED) or thing.fact(Fact.TOLD_AS_DRAWN):
                continue
            if _drawn(thing) and not self._hidden(thing):
                run.heap.set(thing.facts, Fact.TOLD_AS_DRAWN, value=True)
                name = thing.class_name if isinstance(thing, Module) else "torch.nn.Parameter"
                whole = _whole(thing)
                beside = module_parts.parts_of(run, whole).owners if isinstance(whole, Module) else NONE
                run.emit(WeightsDrawn, thing.born, module=number, class_name=name, beside=beside)
        for part in [
            part for part in self._off if not part.fact(Fact.TOLD_AS_DRAWN) and _never_recorded(run, part, loss)
        ]:
            run.heap.set(part.facts, Fact.TOLD_AS_DRAWN, value=True)
            site, name = self._off[part]
            run.emit(PartUnrecorded, site, name=name, modules=_owners(run, part))

    @override
    def changed(self, run: Run, value: Value, call: Call) -> None:
        """Weights change in place: they are given unless what they get is a constant, or drawn, as where they are built."""
        anew = all(isinstance(v, Const) for v in call.values)
        taken = snapshots.states_in(run, value).taken if isinstance(value, Tensor) else frozenset[int]()
        for event in run.trace.at(*sorted(taken)):
            if isinstance(event, StateTaken) and isinstance(module := run.objects.get(event.module), Module):
                modules, whole = parameters.parameters_in(run, (module,))
                run.emit(WeightsGiven, call.node, modules=modules, whole=whole)
        if not isinstance(value, (Module, Params, ParameterValue)) or (anew and run.building):
            return
        if isinstance(value, Module) and _of_its_own(run, value, call):
            return
        modules, whole = parameters.parameters_in(run, (value,))
        run.emit(WeightsGiven, call.node, modules=modules, whole=whole, anew=anew)

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """A copy of a module has the weights of that one; functions of `torch.nn.init` draw new ones."""
        if isinstance(func, Lib) and func.name.startswith(_INIT) and not run.building:
            modules, whole = parameters.parameters_in(run, call.args[:1])
            if modules:
                run.emit(WeightsGiven, call.node, modules=modules, whole=whole, anew=True)
        elif isinstance(func, Lib) and func.name in training.COPIES and isinstance(result, Module):
            modules, _ = parameters.parameters_in(run, (result,))
            of, _ = parameters.parameters_in(run, call.args[:1])
            run.emit(WeightsGiven, call.node, modules=modules, of=of)

    def _hidden(self, thing: Object) -> bool:
        """Whether no whole module has it, though it was made for one: it lies in a plain container."""
        whole = _whole(thing)
        return whole.id in self._inner and whole.fact(Fact.OWNER) is None


def _whole(thing: Object) -> Object:
    """The outermost module that a part belongs to, or the part itself."""
    seen = {thing.id}
    while isinstance(owner := thing.fact(Fact.OWNER), Module) and owner.id not in seen:
        seen.add(owner.id)
        thing = owner
    return thing


def _never_recorded(run: Run, part: Module, loss: Value) -> bool:
    """Whether all of a part is as it was built, belongs to what the loss trains, and ran with autograd off alone."""
    owners = _owners(run, part)
    things = [thing for number in owners if (thing := run.objects.get(number)) is not None]
    drawn = len(things) == len(owners) and all(_drawn(thing) and not thing.fact(Fact.RECORDED) for thing in things)
    return bool(owners) and drawn and owners <= loss.flow.surely


def _owners(run: Run, part: Module) -> frozenset[int]:
    """What owns parameters in a part; nothing where some of it is out of sight."""
    inside = module_parts.parts_of(run, part)
    if inside.opaque:
        return frozenset()
    idle = {each.id for each in inside.parts if module_parts.has_parameters(run, each) is False}
    return inside.owners - idle


def _drawn(thing: Object) -> bool:
    """Whether its constructor drew what it holds, and gradients are recorded for it."""
    if thing.fact(Fact.FROZEN) is not False or thing.fact(Fact.CUT):
        return False
    if isinstance(thing, ParameterValue):
        return thing.declared
    return (
        isinstance(thing, Module)
        and thing.table is not None
        and thing.table.parameters is True
        and not any(name in thing.fields for name in _ASSIGNED)
    )


def _of_its_own(run: Run, module: Module, call: Call) -> bool:
    """Whether a module gets back what was taken of it before."""
    state = call.argument(0, "state_dict")
    if state is None:
        return False
    states = snapshots.states_in(run, state)
    taken = [event for event in run.trace.at(*sorted(states.taken)) if isinstance(event, StateTaken)]
    return states.only and bool(taken) and all(event.module == module.id for event in taken)
