"""Optimizers that step when all that they have is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.state import per_path
from torch_doctor.static.training.module import forwards, module_parts
from torch_doctor.static.training.update import adapters
from torch_doctor.static.values import (
    Const,
    Fact,
    Lib,
    Making,
    Method,
    Module,
    Object,
    Optimizer,
    ParameterValue,
    Tensor,
    Unknown,
    Value,
    leaves,
)
from torch_doctor.trace import FrozenStepped

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call


COPIES = 16
"""Operations through which a copy is followed back."""


class Frozen(
    Observer,
    calling=(Named(Method, ("add_param_group", "requires_grad_", "step")), Named(Lib, ("builtins.setattr",))),
    called=(Lib,),
    read=(Optimizer,),
):
    """Steps of optimizers, and whether anything that they have may have got a gradient."""

    writes = (FrozenStepped,)

    _plain: MutableMapping[Optimizer, None] = per_path(dict)  # those that have copies without a graph alone
    _perhaps: MutableMapping[str, None] = per_path(dict)  # how a tensor may have been made to require gradients

    @override
    def called(self, run: Run, func: Value, call: Call, result: Value) -> None:
        """An optimizer may have been given copies, without a graph, of tensors that require gradients."""
        if isinstance(result, Optimizer) and not result.modules and call.args and not self._perhaps:
            given = [each for each in leaves(call.args[0], decided=run.resolve) if not isinstance(each, Const)]
            if given and all(map(_is_cut_copy, given)):
                self._plain[result] = None

    @override
    def read(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        """The script takes the parameter groups, and may put other tensors there."""
        if name == "param_groups" and isinstance(value, Optimizer):
            self._plain.pop(value, None)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """`tensor.requires_grad = True` comes after the optimizer got the tensor, perhaps under another name."""
        if target.name == "requires_grad":
            self._plain.clear()
            if not isinstance(value, Const):
                self._perhaps[target.name] = None

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
            self._plain.clear()
            return
        optimizer = next((each for each in (func.of, *call.args) if isinstance(each, Optimizer)), None)
        if optimizer is None or optimizer.fact(Fact.SEVERAL) or not run.state.fact(Fact.WENT_BACKWARD):
            return
        if optimizer in self._plain:
            del self._plain[optimizer]
            run.emit(FrozenStepped, call.node, optimizer=optimizer.id, frozen=True, plain=True)
            return
        owners = frozenset(number for number in optimizer.modules if adapters.has_weights(run, number))
        trains, since = adapters.flags(run, owners)
        unseen = any(_has_unseen(run, run.objects.get(number)) for number in optimizer.modules)
        passed = any(thing.fact(Fact.PASSED) for number in owners if (thing := run.objects.get(number)) is not None)
        frozen = optimizer.whole and not unseen and trains is False and not passed
        if optimizer.fact(Fact.IDLE) is not frozen:
            run.heap.set(optimizer.facts, Fact.IDLE, frozen)
            run.emit(FrozenStepped, call.node, optimizer=optimizer.id, frozen=frozen, since=since)


def _is_cut_copy(value: Value) -> bool:
    """Whether a tensor without a graph was computed from one that requires gradients."""
    if not isinstance(value, Tensor) or value.flow.graph is not False:
        return False
    waiting: list[Value] = [value]
    for _ in range(COPIES):
        made = getattr(waiting.pop(), "meta", None) if waiting else None
        if not isinstance(made, Making):
            continue
        if any(isinstance(each, ParameterValue) or each.flow.graph is True for each in made.args):
            return True
        waiting += made.args
    return False


def _has_unseen(run: Run, thing: Object | None) -> bool:
    """Whether something of a module is out of sight, or an attribute of it that may be a module."""
    if not isinstance(thing, Module):
        return False
    return module_parts.parts_of(run, thing).opaque or any(isinstance(each, Unknown) for each in thing.fields.values())
