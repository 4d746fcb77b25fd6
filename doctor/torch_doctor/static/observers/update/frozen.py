"""Optimizers that step when all that they have is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer
from torch_doctor.static.training import adapters, forwards, module_parts
from torch_doctor.static.values import Fact, Method, Module, Object, Optimizer, Unknown, Value
from torch_doctor.trace import FrozenStepped

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call


class Frozen(Observer, calling=(Method,)):
    """Steps of optimizers, and whether anything that they have may have got a gradient."""

    writes = (FrozenStepped,)

    def __init__(self) -> None:
        self._passes = 0
        self._fed: set[int] = set()  # what was not frozen where something went backward
        self._told: dict[int, bool] = {}

    def backward(self, run: Run, loss: Value, _: Call) -> None:
        """Gradients are computed: all that is not surely frozen may get some."""
        self._passes += 1
        reached = forwards.reached(run, loss.flow.forwards) | loss.flow.modules
        things = ((number, run.objects.get(number)) for number in reached)
        self._fed |= {number for number, each in things if each is None or each.fact(Fact.FROZEN) is not True}

    def calling(self, run: Run, func: Value, call: Call) -> None:
        """`optimizer.step()`, or `scaler.step(optimizer)`."""
        if not isinstance(func, Method) or func.name != "step" or not self._passes:
            return
        optimizer = next((each for each in (func.of, *call.args) if isinstance(each, Optimizer)), None)
        if optimizer is None or optimizer.fact(Fact.SEVERAL):
            return
        owners = frozenset(number for number in optimizer.modules if adapters.has_weights(run, number))
        trains, since = adapters.flags(run, owners)
        unseen = any(_has_unseen(run, run.objects.get(number)) for number in optimizer.modules)
        frozen = optimizer.whole and not unseen and trains is False and not owners & self._fed
        if self._told.get(optimizer.id, False) is not frozen:
            self._told[optimizer.id] = frozen
            run.emit(FrozenStepped, call.node, optimizer=optimizer.id, frozen=frozen, since=since)


def _has_unseen(run: Run, thing: Object | None) -> bool:
    """Whether something of a module is out of sight, or an attribute of it that may be a module."""
    if not isinstance(thing, Module):
        return False
    return module_parts.parts_of(run, thing).opaque or any(isinstance(each, Unknown) for each in thing.fields.values())
