"""Optimizers that step when all that they have is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.training.module import forwards, module_parts
from torch_doctor.static.training.update import adapters
from torch_doctor.static.values import Fact, Method, Module, Object, Optimizer, Unknown, Value
from torch_doctor.trace import FrozenStepped

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call


class Frozen(Observer, calling=(Method,)):
    """Steps of optimizers, and whether anything that they have may have got a gradient."""

    writes = (FrozenStepped,)

    @override
    def backward(self, run: Run, loss: Value, _: Call) -> None:
        """Gradients are computed: all that is not surely frozen may get some."""
        run.heap.set(run.state.facts, Fact.WENT_BACKWARD, value=True)
        for number in forwards.reached(run, loss.flow.forwards) | loss.flow.modules:
            thing = run.objects.get(number)
            if thing is not None and thing.fact(Fact.FROZEN) is not True:
                run.heap.set(thing.facts, Fact.PASSED, value=True)

    @override
    def calling(self, run: Run, func: Value, call: Call) -> None:
        """`optimizer.step()`, or `scaler.step(optimizer)`."""
        if not isinstance(func, Method) or func.name != "step":
            return
        optimizer = next((each for each in (func.of, *call.args) if isinstance(each, Optimizer)), None)
        if optimizer is None or optimizer.fact(Fact.SEVERAL) or not run.state.fact(Fact.WENT_BACKWARD):
            return
        owners = frozenset(number for number in optimizer.modules if adapters.has_weights(run, number))
        trains, since = adapters.flags(run, owners)
        unseen = any(_has_unseen(run, run.objects.get(number)) for number in optimizer.modules)
        passed = any(thing.fact(Fact.PASSED) for number in owners if (thing := run.objects.get(number)) is not None)
        frozen = optimizer.whole and not unseen and trains is False and not passed
        if optimizer.fact(Fact.IDLE) is not frozen:
            run.heap.set(optimizer.facts, Fact.IDLE, frozen)
            run.emit(FrozenStepped, call.node, optimizer=optimizer.id, frozen=frozen, since=since)


def _has_unseen(run: Run, thing: Object | None) -> bool:
    """Whether something of a module is out of sight, or an attribute of it that may be a module."""
    if not isinstance(thing, Module):
        return False
    return module_parts.parts_of(run, thing).opaque or any(isinstance(each, Unknown) for each in thing.fields.values())
