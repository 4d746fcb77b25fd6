"""What mends an evaluation pass: where it lies in the source, and where its model is put back into training mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.edits import Call, Delete, Within
from torch_doctor.trace import (
    Backward,
    Escaped,
    Forward,
    Loaded,
    LoopKind,
    ModeSet,
    ModuleBuilt,
    OptimizerBuilt,
    ScopeKind,
    Stepped,
)
from torch_doctor_rules.judging.forward_places import batch_of
from torch_doctor_rules.judging.wording import is_path, owner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_doctor.trace import Event, Scope, Site, Trace
    from torch_doctor_rules.judging.passes import Passes

Calls = tuple[tuple["Site", "Site"], ...]
TRAIN = "{}.train()"
LAMBDA = "<lambda>"
MODULE_METHODS = frozenset(("forward", "__call__", "__init__"))


class Place(NamedTuple):
    """Where a pass lies: the statement at `site`, in the function or script `frame`, which does nothing else if `whole`.

    `calls` lead from there to its forward; at the places `apart`, others in that function, the script trains.
    """

    site: Site
    frame: Scope
    whole: bool
    calls: Calls
    apart: tuple[Site, ...]


def place_of(passes: Passes, forward: Forward) -> Place | None:
    """The loop over the batches that the script never trains in; else a function or an expression in it, else a call around it.

    None where there is none, or where a run shows only a part of what the script does.
    """
    if passes.trace.observed:
        return None
    chain, training = forward.scope.chain(), _training(passes)
    batch = batch_of(forward)
    loop = len(chain) if batch is None else chain.index(batch)
    inner = [number for number in range(loop + 1, len(chain)) if chain[number].called_at is not None]
    for depth in (loop, *(number + 1 for number in inner), loop + 1):
        place = _place(forward, depth, training)
        if place is not None and (place.whole or depth <= loop + 1):
            return place
    depth = _frame(chain, loop)
    while chain[depth].called_at not in (None, chain[depth].site):
        place = _place(forward, depth, training)
        if place is not None:
            return place
        depth = _frame(chain, depth)
    return None


def _frame(chain: Sequence[Scope], depth: int) -> int:
    """Where the function or the script begins that a scope is in."""
    return max((number for number in range(depth) if chain[number].kind is not ScopeKind.ITERATION), default=0)


def _place(forward: Forward, depth: int, training: Sequence[Event]) -> Place | None:
    """The scope at a depth, or what is innermost in it, where the script does not train there or in its function."""
    chain = forward.scope.chain()
    frame, site = chain[_frame(chain, depth)], _next(forward, chain[depth:])
    whole = frame.kind is ScopeKind.CALL and not any(_runs_in(event, frame) for event in training)
    if frame.name == LAMBDA or (frame.name in MODULE_METHODS and whole):
        return None
    if not whole and any(_runs_at(event, site) for event in training):
        return None
    apart = {_level(event, frame) for event in training if _runs_in(event, frame)}
    return Place(site, frame, whole, _calls(chain[_frame(chain, depth) + 1 :]), tuple(sorted(apart)))


def without_gradients(passes: Passes, forward: Forward) -> list[Within]:
    """The function that evaluates under `no_grad`; where it also trains or builds models, the pass.

    Nothing where the pass hands the model to unresolved code, which may need gradients, as saliency maps do.
    """
    place = place_of(passes, forward)
    if place is None:
        return []
    model = passes.family.within((forward.module,))
    if any(event.modules & model and _runs_at(event, place.site) for event in passes.trace.of(Escaped)):
        return []
    if place.whole and not any(_runs_in(event, place.frame) for event in _building(passes)):
        return [Within(place.frame.site, "$torch.no_grad()", unless="backward")]
    return [Within(place.site, "$torch.no_grad()", apart=place.apart, unless="backward")]


def _building(passes: Passes) -> list[Event]:
    """What makes models, or hands them on to code that may train them."""
    trace = passes.trace
    escaped = (event for event in trace.of(Escaped) if event.modules or event.optimizers)
    return [*trace.of(ModuleBuilt), *trace.of(Loaded), *trace.of(OptimizerBuilt), *escaped]


def in_evaluation_mode(passes: Passes, forward: Forward) -> list[Call]:
    """The model put into evaluation mode before the pass, and into training mode where training goes on."""
    place = place_of(passes, forward)
    if place is None or not is_path(forward.name):
        return []
    switched = any(
        _runs_in(event, place.frame) and passes.family.related((event.module,), (forward.module,))
        for event in passes.trace.of(ModeSet)
    )
    if switched and place.whole:
        return []  # it chooses its mode itself
    where = "function" if place.whole else "before"
    restored = in_training_mode(passes, forward, forward, place)
    if restored is None:
        return []
    return [Call(place.site, forward.name, "{}.eval()", where, place.apart, place.calls), *restored]


def in_training_mode(
    passes: Passes, switch: Event, forward: Forward, place: Place | None = None, ignored: Site | None = None
) -> list[Call] | None:
    """Where the model of `forward` goes back to training mode, once evaluation mode holds from `switch` on.

    `place` is where it evaluates after the switch, `ignored` a switch back that is to be taken out. None where it is not
    clear; nothing where training does not go on, or switches back itself.
    """
    trace, family = passes.trace, passes.family
    switches = [
        each for each in trace.of(ModeSet) if family.related((each.module,), (forward.module,)) and each.site != ignored
    ]
    parts = any(not each.whole and each.site != ignored for each in trace.of(ModeSet))
    if trace.observed or parts or not all(forward.module in family.within((each.module,)) for each in switches):
        return None
    following = _next_training(passes, switch, forward)
    if following is None or any(each.training and _between(trace, switch, each, following) for each in switches):
        return []
    loop = trace.common_loop(switch, following)
    if loop is None:
        return None if place is None else [Call(place.site, forward.name, TRAIN, "after", place.apart, place.calls)]
    name, caller = _whole_of(passes, switch, forward, following)
    if not is_path(name):
        return None
    calls = _calls(_inside(caller, loop))
    if loop.loop_kind is not LoopKind.BATCHES:
        return [Call(loop.site, name, TRAIN, "first", calls=calls)]
    last = _last_evaluation(passes, switch, following, loop)
    beside = _next(switch, _inside(switch, loop))
    return [Call(_next(last, _inside(last, loop)), name, TRAIN, "after", calls=calls, beside=beside)]


def _between(trace: Trace, switch: Event, mode: ModeSet, following: Forward) -> bool:
    """Whether a mode is set between a switch and the forward after it, which may come in the next pass of a loop."""
    if switch.index < following.index:
        return switch.index < mode.index < following.index
    return mode.index < following.index and trace.common_loop(switch, following) in mode.scope.iterations()


def _whole_of(passes: Passes, switch: Event, forward: Forward, following: Forward) -> tuple[str, Event]:
    """What is called the whole model that the switch concerns, and the event that calls it so; "" where nothing does."""
    within = passes.family.within((following.module,))
    if (switch.module if isinstance(switch, ModeSet) else forward.module) in within:
        return following.name, following
    return (owner(switch.name, "eval", ""), switch) if isinstance(switch, ModeSet) else ("", switch)


def _last_evaluation(passes: Passes, switch: Event, following: Forward, loop: Scope) -> Event:
    """The last forward that evaluates after a switch in the same pass of a loop; where there is none, the switch."""
    evaluating = [
        each
        for each in passes.trace.of(Forward)
        if switch.index <= each.index
        and (each.index < following.index or following.index < switch.index)
        and loop in each.scope.iterations()
        and not passes.goes_backward(each)
    ]
    return evaluating[-1] if evaluating else switch


def _next_training(passes: Passes, switch: Event, forward: Forward) -> Forward | None:
    """The first forward that trains the model after a switch.

    Where none does by the number of passes that the witness makes, one in the same pass of a loop, that may come again.
    """
    trace = passes.trace
    trained = [
        each
        for each in trace.of(Forward)
        if passes.family.related((each.module,), (forward.module,)) and passes.trains(each)
    ]
    again = (
        each for each in trained if trace.common_loop(switch, each) is not None and trace.same_iteration(switch, each)
    )
    return next((each for each in trained if each.index > switch.index), None) or next(again, None)


def _training(passes: Passes) -> list[Event]:
    trace = passes.trace
    forwards = (event for event in trace.of(Forward) if passes.goes_backward(event))
    return [*trace.of(Backward), *trace.of(Stepped), *forwards]


def _runs_in(event: Event, frame: Scope) -> bool:
    """Whether it happens in any run of a function; in the script itself, always."""
    return any(scope.kind is frame.kind and scope.site == frame.site for scope in event.scope.chain())


def _runs_at(event: Event, site: Site) -> bool:
    """Whether it happens in the loop, the call or the expression at a place."""
    return event.site == site or any(
        site == (scope.site if scope.kind is ScopeKind.ITERATION else scope.called_at) for scope in event.scope.chain()
    )


def _level(event: Event, frame: Scope) -> Site:
    """The place in the function itself, and not in one that it calls, where an event happens."""
    chain = event.scope.chain()
    depth = max(number for number, scope in enumerate(chain) if scope.kind is frame.kind and scope.site == frame.site)
    return next((scope.called_at for scope in chain[depth + 1 :] if scope.called_at is not None), event.site)


def _inside(event: Event, loop: Scope) -> tuple[Scope, ...]:
    """The scopes of an event within the passes of a loop."""
    chain = event.scope.chain()
    depth = next(number for number, scope in enumerate(chain) if scope.loop == loop.loop)
    return chain[depth + 1 :]


def _next(event: Event, inner: tuple[Scope, ...]) -> Site:
    """The outermost loop or call of these scopes, else the event itself."""
    for scope in inner[:1]:
        return scope.site if scope.called_at is None else scope.called_at
    return event.site


def _calls(scopes: Iterable[Scope]) -> Calls:
    return tuple((scope.called_at, scope.site) for scope in scopes if scope.called_at is not None)


def left_alone(passes: Passes, mode: ModeSet | None, own: ModeSet, forward: Forward) -> list[Call | Delete]:
    """The model no longer switches itself back: whoever evaluates it and trains on does so."""
    restored = None if mode is None else in_training_mode(passes, mode, forward, ignored=own.site)
    return [] if restored is None else [Delete(own.site), *restored]
