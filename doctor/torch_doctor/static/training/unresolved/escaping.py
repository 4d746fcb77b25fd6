"""What goes out of sight: whoever gets a value without anybody seeing what for may change all that can be reached from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import UNSEEN, blend
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import command_lines
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import frameworks, libraries, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import pixels, places
from torch_doctor.static.training.checkpoint import snapshots
from torch_doctor.static.training.device import exchanging
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.graph import emptying, keeping
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import presence, roles
from torch_doctor.static.training.update import given_gradients
from torch_doctor.static.values import (
    Args,
    Autocast,
    Context,
    Either,
    Fact,
    Instance,
    Lib,
    Loader,
    Mapping,
    Method,
    Module,
    Optimizer,
    ParameterValue,
    Partial,
    Sequence,
    Stream,
    Suspended,
    Tensor,
    Tool,
    Unknown,
    Value,
    held,
    leaves,
    reachable,
)
from torch_doctor.trace import Escaped, Kind

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class Assigning(Knowledge):
    """The assignment that is being executed."""

    node: p.Assign | None = per_run()


def hand_over(
    run: Run, to: str, holders: Args, values: Args, node: p.Node, *, stays: bool = False, keeps_modes: bool = False
) -> None:
    """Write that what these values hold went out of sight: from here on, all of it may be otherwise.

    `holders` are what somebody got or has, `values` those among them that may go backward there. `stays`: who got
    them goes on while the script does. `keeps_modes`: who got them leaves each part in the mode that it is known to be in.
    """
    reached = _held(run, holders)
    assigned = run.of(Assigning).node
    builds = assigned is not None and assigned.value is node and roles.builds(run, assigned.targets[0], reached)
    optimizers = frozenset(number for number in reached if isinstance(run.objects.get(number), Optimizer))
    modules = frozenset(number for number in reached if isinstance(run.objects.get(number), (Module, ParameterValue)))
    anything = bool(optimizers) or _is_method_of_model(holders)
    losses = [value for value in values if anything or _may_go_backward(value)]
    losses += [value for value in attributes(holders) if optimizers or _may_be_loss(value)]
    forwards = frozenset[int]().union(*(value.flow.forwards for value in losses))
    outputs = frozenset[int]().union(*(value.flow.forwards for value in values if value.flow.graph is not False))
    retained = frozenset[int]().union(*(value.flow.retained for value in values))
    states = frozenset[int]().union(*(snapshots.states_in(run, value).taken for value in values))
    beside = blend(value.flow for value in values if not isinstance(value, (Mapping, Sequence))).part(node)
    for value in values:
        keeping.stored(run, value, node)
        pixels.disturbed(run, places.disturbed(run, value))
        command_lines.escaped(run, value)
        given_gradients.changed(run, value, node)
        if isinstance(value, (Mapping, Sequence)):
            emptying.open_table(run, value, beside=beside if beside.forwards else UNSEEN)
        emptying.perhaps_let_go(run, to, value, node)
    emptying.escaped(run, holders)
    exchanging.perhaps_inside(run, holders)
    stacks = any(isinstance(value, Tool) and value.name in libraries.STACKS for value in values)
    if stacks or any(isinstance(value, Context) for value in values):
        run.set_grad(to, None, node)  # it may be entered there
    if stacks:
        places.placed_by_default(run)
    scalers, reached_loaders = _scalers_and_loaders(run, holders)
    whole = module_parts.with_parts(run, modules)
    places.lost_sight(run, whole, reached_loaders)
    if not builds and not keeps_modes:
        modes.lost_sight(run, whole)
    _lost_constants(run, whole)
    modes.met_whole(run, [each for each in map(run.objects.get, whole) if isinstance(each, Module)])
    _built_there(run, held(values), modules, whole)
    if optimizers or modules or forwards or retained or scalers or reached_loaders or outputs or states:
        run.emit(
            Escaped,
            node,
            to=to,
            optimizers=optimizers,
            modules=whole,
            forwards=forwards,
            retained=retained,
            scalers=scalers,
            loaders=reached_loaders,
            outputs=outputs,
            states=states,
            builds=builds,
            stays=stays,
        )


def _is_method_of_model(holders: Args) -> bool:
    """Whether it is a method of a model that is called: that may train the model, from whatever it gets."""
    return any(isinstance(holder, Method) and isinstance(holder.of, Module) for holder in holders)


def _built_there(run: Run, given: frozenset[int], modules: frozenset[int], whole: frozenset[int]) -> None:
    """Modules that are being built, and get there, may be initialised there, and get others as their parts."""
    for module in run.building:
        opaque = isinstance(module, Module) and module.cls is not None and module.cls.opaque_base()
        if module.id in given or (opaque and module.id in whole):
            run.heap.set(module.facts, Fact.INITIALISED, value=True)  # its base's constructor ran there, perhaps
            for other in filter(None, map(run.objects.get, modules - {module.id})):
                run.heap.set(other.facts, Fact.REGISTERED, value=True)  # in it, perhaps


def _held(run: Run, holders: Args) -> frozenset[int]:
    """What someone who gets these values can reach; who gets an engine gets its optimizer."""
    reached = held(holders)
    engines = (thing.fact(Fact.ENGINE) for thing in map(run.objects.get, reached) if isinstance(thing, Module))
    return reached | {engine.id for engine in engines if isinstance(engine, Optimizer)}


def _lost_constants(run: Run, modules: frozenset[int]) -> None:
    """The weights of these are no longer known to be what they were set to."""
    for thing in filter(None, map(run.objects.get, modules)):
        if thing.fact(Fact.CONSTANT) is not None:
            run.heap.set(thing.facts, Fact.CONSTANT, None)


def neutral(value: Value) -> bool:
    """Whether a context or decorator, or what makes one, is known to leave modes alone."""
    if isinstance(value, Method):
        return neutral(value.of)
    if isinstance(value, Either):
        return all(neutral(option) for _, option in value.options)
    if isinstance(value, Partial):
        return neutral(value.func)
    if isinstance(value, (Lib, Tool)):
        name = canonical(value.name)
        return libraries.neutral(name) or name in frameworks.OWNERS
    if isinstance(value, Instance):
        return not (value.cls.opaque_base() or value.cls.libraries())
    if isinstance(value, Unknown):
        return value.neutral
    return not isinstance(value, (Context, Autocast, Suspended))


def passed(run: Run, context: Value, values: Args, to: str, node: p.Node) -> None:
    """A context manager or decorator begins or ends that nobody can follow; who made it may have given it any model."""
    hand_over(run, to, (context, *values), (), node)
    if isinstance(context, Suspended) or (isinstance(context, Unknown) and not context.confined):
        modes.lost_sight(run, [each.id for each in run.objects.of(Module) if not each.fact(Fact.REGISTERED)])


def attributes(holders: Args) -> list[Value]:
    """The tensors among the attributes of the script's own objects that someone who gets these values can reach."""
    owners = [each for each in reachable(holders) if isinstance(each, (Instance, Module)) and each.cls is not None]
    inside = (field for owner in owners for field in owner.fields.values() if isinstance(field, Value))
    return [value for value in inside if isinstance(value, (Tensor, Unknown))]


def _may_go_backward(value: Value) -> bool:
    """Whether a function that gets this value may call backward on it: a loss, or something that is not known."""
    return any(map(_may_be_loss, leaves(value)))


def _may_be_loss(value: Value) -> bool:
    if value.flow.graph is False:
        return False
    if isinstance(value, Tensor):
        return value.kind is Kind.LOSS or value.scalar is True
    return isinstance(value, Unknown) and value.flow.source.value != "loader" and bool(value.flow.forwards)


def _scalers_and_loaders(run: Run, holders: Args) -> tuple[frozenset[int], frozenset[int]]:
    """The numbers of the scalers, and of the loaders, that someone who gets these values can reach."""
    any_scaler, any_loader = run.of(presence.Scalers).any, run.of(presence.Loads).any
    scalers, loaders = set[int](), set[int]()
    for each in reachable(holders):
        if isinstance(each, Stream):
            if each.loader:
                loaders.add(each.loader)
        elif any_loader and isinstance(each, Loader):
            loaders.add(each.id)
        elif any_scaler and isinstance(each, Tool) and each.name in training.SCALERS:
            scalers.add(each.id)
    return frozenset(scalers), frozenset(loaders)
