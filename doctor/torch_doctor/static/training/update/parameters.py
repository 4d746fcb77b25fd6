"""The parameters that lie in values, and what is done to them and their gradients by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    CPU,
    MADE_OF_GRADIENTS,
    MOVED_PARAMETER,
    NOTHING,
    NOWHERE,
    Call,
    Const,
    Either,
    Fact,
    Grads,
    Lib,
    Module,
    Object,
    Origin,
    ParameterValue,
    Params,
    Spread,
    Stream,
    Tensor,
    Unknown,
    Value,
    leaves,
)
from torch_doctor.trace import (
    Clipped,
    Escaped,
    ParameterMoved,
    Stepped,
    TrainableSet,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


GIVING: Final[dict[type[Value], Callable[[Any], tuple[Value, ...]]]] = {
    Stream: lambda stream: (stream.item,),
    Spread: lambda spread: spread.content.all(),
}


def parameters_in(run: Run, values: Any) -> tuple[frozenset[int], bool]:
    """The owners of the parameters that lie in these values, and whether these are all."""
    found: set[int] = set()
    whole = True

    def decided(value: Value) -> Value:
        nonlocal whole
        option = run.resolve(value)
        whole &= not isinstance(option, Either)
        return option

    for value in leaves(*values, decided=decided, more=GIVING):
        if isinstance(value, Params):
            found |= value.modules
            whole &= value.whole
        elif isinstance(value, Module):
            found |= module_parts.parts_of(run, value).owners
        elif isinstance(value, ParameterValue):
            found.add(value.id)
        elif isinstance(value, Unknown):
            found |= {n for n in value.holds if isinstance(run.objects.get(n), (Module, ParameterValue))}
            whole = False
    return module_parts.with_parts(run, frozenset(found)), whole


@library("torch.nn.Parameter")
def parameter(run: Run, _: str, call: Call) -> Value:
    """A parameter that is built by hand."""
    made: ParameterValue = run.own(ParameterValue(run.site(call.node), declared=True))
    data, wanted = call.argument(0, "data"), call.argument(1, "requires_grad")
    if isinstance(data, Tensor):
        run.heap.set(made.facts, Fact.MADE, data.meta)
        run.heap.set(made.facts, Fact.DATA, data.origin)
    if wanted is not None:
        set_trainable(run, frozenset((made.id,)), wanted, call.node, whole=True)
    if run.modules_called and not run.building:
        run.heap.set(run.state.facts, Fact.RENEWED, run.state.fact(Fact.RENEWED) | {made.id})
    return made


def set_trainable(
    run: Run, modules: frozenset[int], flag: Value, node: p.Node, *, whole: bool, perhaps: bool = False
) -> None:
    """`requires_grad` of parameters is set.

    `whole` tells whether these are all parameters of their modules, `perhaps` that nobody knows which of them they are.
    """
    on = bool(flag.value) if isinstance(flag, Const) else None
    if on is not None and whole:
        _tell_of(run, modules, node, on=on)
    in_passing = on is not True and run.fork_depth > 0 and any(branch.loop_depth for branch in run.branches)
    for number in modules:
        thing = run.objects.get(number)
        if thing is not None:
            sure = whole and not thing.fact(Fact.SEVERAL)  # it may be another of them
            frozen = not on if sure and on is not None else None
            if thing.fact(Fact.FROZEN) is not frozen:
                run.heap.set(thing.facts, Fact.FROZEN, frozen)
                run.heap.restructure()  # what a forward returned before no longer holds
            run.heap.set(thing.facts, Fact.FLAGGED, run.site(node))
            run.heap.set(thing.facts, Fact.FROZEN_IN_PASSING, in_passing)
            if whole or perhaps:
                run.heap.set(thing.facts, Fact.MAY_BE_FROZEN, on is not True)


def _tell_of(run: Run, modules: frozenset[int], node: p.Node, *, on: bool) -> None:
    """Write that parameters are frozen or thawed; for those that were frozen, where that was."""
    things = [thing for number in modules if (thing := run.objects.get(number)) is not None and _has_own(run, thing)]
    frozen = [each for each in things if each.fact(Fact.FROZEN) is True and each.fact(Fact.MAY_BE_FROZEN)]
    sites = {each.fact(Fact.FLAGGED) for each in frozen} if on else set()
    thawed = frozenset(each.id for each in frozen) if on else frozenset[int]()
    since = sites.pop() if len(sites) == 1 else None
    run.emit(TrainableSet, node, modules=frozenset(each.id for each in things), on=on, thawed=thawed, since=since)


def _has_own(run: Run, thing: Object) -> bool:
    return not isinstance(thing, Module) or module_parts.has_parameters(run, thing) is True


def changed_by_hand(run: Run, modules: frozenset[int], values: Any, node: p.Node) -> None:
    """Parameters are changed in place: an update when gradients go in, and perhaps one when something computed does."""
    values = tuple(values)
    if any(isinstance(v, Grads) or (isinstance(v, Tensor) and v.origin.operation == MADE_OF_GRADIENTS) for v in values):
        run.emit(Stepped, node, optimizer=0, name=run.text(node), modules=modules, whole=True, manual=True)
    elif any(isinstance(value, (Tensor, Unknown)) and value.flow.forwards for value in values):  # a learned optimizer
        run.emit(Escaped, node, to=run.text(node), modules=modules)


def update_by_hand(run: Run, modules: frozenset[int], new: Value, node: p.Node) -> None:
    """`p.data = ...`."""
    changed_by_hand(run, modules, (new,), node)


def updates_by_hand(run: Run, node: p.Augment, old: Value, value: Value) -> bool:
    """Whether the statement is a hand-written update of parameters; it is written when so."""
    if isinstance(old, Params) and not (isinstance(value, Params) and not old.single and not value.single):
        changed_by_hand(run, old.modules, (value,), node)
        return True
    if isinstance(old, ParameterValue) and not node.rebinds and run.grad is not True:
        changed_by_hand(run, frozenset((old.id,)), (value,), node)
        return True
    if isinstance(old, Grads):
        gradients_changed(run, old, node, fills=node.op in "+-")
        return True
    return False


@library("torch.nn.utils.vector_to_parameters")
def from_vector(run: Run, _: str, call: Call) -> Value | None:
    """The numbers of a vector are written into parameters."""
    vector, given = call.argument(0, "vec"), call.argument(1, "parameters")
    if vector is None or given is None:
        return None
    for value in leaves(given, decided=run.resolve, more=GIVING):
        if isinstance(value, (Params, ParameterValue)):
            owners = value.modules if isinstance(value, Params) else frozenset((value.id,))
            for observe in run.observers.changed:
                observe(run, value, Call((vector,), {}, call.node, f"{run.text_of_argument(call.node, 1)}.copy_"))
            changed_by_hand(run, owners, (vector,), call.node)
        else:
            return None
    return NOTHING


@library_family(lambda name: name.startswith("torch.distributed."), stage=Stage.NOTE)
def reduced(run: Run, _: str, call: Call) -> None:
    """Gradients become those of all processes."""
    if call.args and isinstance(call.args[0], Grads):
        gradients_changed(run, call.args[0], call.node, fills=True)


def gradients_changed(run: Run, of: Grads, node: p.Node, *, fills: bool) -> None:
    """Write that gradients were changed in place: clipped, normalised, unscaled or made noisy; or filled, where they were zeros."""
    run.emit(Clipped, node, function="", name=run.text(node), modules=of.modules, manual=True, fills=fills)


def moved(of: ParameterValue, name: str, call: Call) -> Tensor:
    """What a move makes of a parameter. Of one that is not to be trained, nothing is lost that an optimizer would miss."""
    given = call.values
    typed = any(isinstance(value, Lib) for value in given) and "device" not in call.keywords
    away = name in ("cuda", "xpu", "mps") or (name == "to" and bool(given) and not typed)
    if of.fact(Fact.FROZEN) is not False or of.fact(Fact.MAY_BE_FROZEN):
        away = False
    data = of.fact(Fact.DATA) or of.origin
    if not data.fresh and data.device != CPU:
        away = False  # its data came from somewhere, perhaps from there
    return Tensor(of.flow, origin=Origin(operation=MOVED_PARAMETER) if away and of.declared else NOWHERE)


def assigned(run: Run, module: Module, name: str, value: Value, node: p.Node) -> None:
    """Write that a module keeps as an attribute what a move made of a parameter; torch refuses it in the parameter's place."""
    moved_there = isinstance(value, Tensor) and value.origin.operation == MOVED_PARAMETER
    if moved_there and not isinstance(module.fields.get(name), ParameterValue):
        run.emit(ParameterMoved, node, owner=module.id, owner_class=module.class_name, name=name)
