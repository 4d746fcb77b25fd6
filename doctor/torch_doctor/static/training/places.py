"""Device tracking: where tensors and modules are, and who moves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.state import per_run
from torch_doctor.static.training.device import devices
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    BUILT,
    CPU,
    FRESH,
    GPU,
    NAMED,
    NOWHERE,
    ON_CPU,
    Call,
    Either,
    Fact,
    Module,
    Origin,
    ParameterValue,
    Sequence,
    Tensor,
    Unknown,
    UnknownName,
    Value,
    asked,
    one_of,
    unpacked,
)
from torch_doctor.static.values.symbols import OPTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Conditions, Symbol
    from torch_doctor.trace import Site


class Placement(Knowledge):
    """The move that a run has seen last, and who is told of moves."""

    # The last call that moved a tensor, and the tensor.
    moved: tuple[p.Node | None, Value | None] = per_run(lambda: (None, None))
    dropped: Dropped | None = per_run()  # the last one, where nobody took its result
    moves: Moves | None = per_run()  # what is moved while an item of a data set is made


DEFAULTS = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
"""Functions after which nobody can tell where a tensor is made that is told nothing."""
AWAY = (GPU, NAMED)
_PERHAPS_HERE = replace(FRESH, device="", sized=False)
"""Of a tensor that was made on the CPU: nobody knows where it is now, and it is not known to be elsewhere."""


# --- where things are ---


@library_family(DEFAULTS, stage=Stage.NOTE)
def default_set(run: Run, _: str, __: Call) -> None:
    """What nobody moves may be where the model is from here on."""
    placed_by_default(run)


def placed_by_default(run: Run) -> None:
    """What nobody moves may be where the model is, on this path and after it."""
    run.heap.set(run.state.facts, Fact.PLACED_BY_DEFAULT, value=True)


def of(value: Value | None) -> Origin:
    """Where a tensor is."""
    if isinstance(value, Either):
        return one_of((facts, of(option)) for facts, option in value.options)
    if isinstance(value, Sequence):
        data = unpacked(value)
        return NOWHERE if data is value else of(data)
    if isinstance(value, (Tensor, Unknown)) or (isinstance(value, ParameterValue) and not value.declared):
        return _settled(value.origin)
    return NOWHERE


def _settled(origin: Origin) -> Origin:
    """Where a tensor is for those who compare devices; a forward's own tensors are no concern of theirs."""
    if origin.fresh:
        return ON_CPU if origin.sized and not origin.births and not origin.attributes else NOWHERE
    return origin.by() if origin.known else NOWHERE


def options(run: Run, place: Origin, facts: Conditions = frozenset()) -> Iterator[tuple[Conditions, Origin]]:
    """The places that something may be at on the current path, each with what has to hold for it beside `facts`."""
    if not place.options:
        settled = _sent(run, _settled(place))
        yield facts, NOWHERE if settled.device in AWAY and _stays(settled, {**run.assumed, **dict(facts)}) else settled
    for needs, option in place.options:
        if any(
            test[0] == OPTION or devices.asked_for(test) or (asked(test) and test not in run.assumed)
            for test, _ in needs
        ):
            yield facts | needs, NOWHERE  # one of several was moved, and nothing tells which, or who knows where it is
            continue
        known = dict(facts)
        if all(run.assumed.get(symbol, known.get(symbol, arm)) is arm for symbol, arm in needs):
            yield from options(run, option, facts | needs)


def _sent(run: Run, place: Origin) -> Origin:
    """What a loader gives is on the CPU where the script moves something of it."""
    if place.loaders and not place.device and place.loaders & run.state.fact(Fact.SENT_AWAY):
        return replace(place, device=CPU)
    return place


def is_away(run: Run, place: Origin) -> bool:
    """Whether something may be on another device than the CPU on the current path."""
    return place.known and any(option.device in AWAY for _, option in options(run, place))


def stay(run: Run, modules: Iterable[int]) -> bool:
    """Whether the parameters of these are on the CPU on the current path, as far as it is known; they move together."""
    return _here(run, _origins(run, modules))


def unmoved(run: Run, modules: Iterable[int]) -> bool:
    """Whether the parameters of these were on the CPU when they were last seen, before code out of sight got them."""
    things = [thing for thing in map(run.objects.get, modules) if isinstance(thing, Module)]
    return bool(things) and all(thing.fact(Fact.UNMOVED) for thing in things)


def went(run: Run, modules: Iterable[int]) -> bool:
    """Whether the parameters of these may be on another device than the CPU on the current path."""
    return any(is_away(run, origin) for origin in _origins(run, modules))


def _here(run: Run, origins: Iterable[Origin]) -> bool:
    found = {option.device for origin in origins for _, option in options(run, origin)}
    return CPU in found and found.isdisjoint(AWAY)


def _origins(run: Run, modules: Iterable[int]) -> Iterator[Origin]:
    things = (run.objects.get(number) for number in modules)
    return (thing.fact(Fact.ORIGIN) for thing in things if isinstance(thing, Module))


def part(place: Origin) -> Origin:
    """Where a part of something is that is not known to be a tensor: a batch's."""
    return replace(place, sized=True) if place.known and not place.options and not place.sized else NOWHERE


# --- who moves them ---


class Moves:
    """Where tensors were moved to the GPU since this was made, on all paths that have one."""

    def __init__(self, run: Run) -> None:
        self.sites: list[Site] = []
        self._assumed = run.assumed

    def note(self, run: Run, node: p.Node) -> None:
        """A move, unless some setting decides whether it happens."""
        if all(symbol in self._assumed or devices.asks_for_gpu(symbol) for symbol in run.assumed):
            self.sites.append(run.site(node))


def note_move(run: Run, node: p.Node) -> None:
    """Note a move to the GPU, where somebody wants to know."""
    moves = run.of(Placement).moves
    if moves is not None:
        moves.note(run, node)


def _stays(place: Origin, assumed: Mapping[Symbol, bool]) -> bool:
    """Whether the tests of a path came out so that what is sent to the GPU stays where it is."""
    chosen = any(assumed.get(symbol, arm) is not arm for symbol, arm in place.needs)
    return chosen or any(devices.lacks_gpu(*fact) for fact in assumed.items())


def moved(run: Run, value: Value, method: str, call: Call) -> Origin:
    """Where the result of a move is; the move is remembered, for the case that nobody takes it."""
    before = of(value)
    goal = devices.goal(method, call)
    if goal is None:
        return before
    if isinstance(goal, Value):
        return of(goal)
    if goal == GPU:
        note_move(run, call.node)
    if goal in AWAY:
        run.of(Placement).moved = (call.node, value)
        run.heap.set(run.state.facts, Fact.SENT_AWAY, run.state.fact(Fact.SENT_AWAY) | before.loaders)
    if not goal:
        return NOWHERE
    sized = isinstance(value, Tensor) or before.sized
    needs = devices.needs_to_go(method, call)
    return Origin(device=goal, needs=needs, how="moved", since=run.site(call.node), sized=sized)


def module_moved(run: Run, module: Module, method: str, call: Call) -> None:
    """A module moves in place, with all that is in it."""
    goal = devices.goal(method, call)
    if goal is None:
        return
    needs, since = devices.needs_to_go(method, call), run.site(call.node)
    sent = "" if isinstance(goal, Value) else goal
    place = of(goal) if isinstance(goal, Value) else Origin(device=sent, needs=needs, how="parameter", since=since)
    inside = module_parts.parts_of(run, module)
    if inside.opaque or any(isinstance(name, UnknownName) for name in module.fields):  # any other may be a part of it
        lost_sight(run, [each.id for each in run.objects.of(Module)], ())
    default = isinstance(goal, (Tensor, Unknown)) and goal.origin.fresh  # it is where torch creates things
    for each in inside.parts:
        run.heap.set(each.facts, Fact.ORIGIN, BUILT if default and each.fact(Fact.ORIGIN).as_built else place)
        run.heap.set(each.facts, Fact.UNMOVED, value=False)


def lost_sight(run: Run, modules: Iterable[int], loaders: Iterable[int]) -> None:
    """Somebody out of sight got these, and may have moved them, or what they give."""
    for number in modules:
        thing = run.objects.get(number)
        if isinstance(thing, Module) and thing.facts.get(Fact.ORIGIN) is not NOWHERE:
            if not thing.fact(Fact.UNMOVED) and _here(run, [thing.fact(Fact.ORIGIN)]):
                run.heap.set(thing.facts, Fact.UNMOVED, value=True)
            run.heap.set(thing.facts, Fact.ORIGIN, NOWHERE)
    for number in loaders:
        thing = run.objects.get(number)
        if thing is not None and not isinstance(thing, Module):
            run.heap.set(thing.facts, Fact.ELSEWHERE, value=True)


class Dropped(NamedTuple):
    """A call that moved a tensor, and whose result nobody took: what it was called on, and what that is from here on."""

    node: p.Node
    value: Value
    now: Value


def dropped(run: Run, node: p.Expr) -> None:
    """Nobody takes the result of the last move: where its tensor is, nobody knows, since other things move in place."""
    meetings = run.of(Placement)
    call, value = meetings.moved
    meetings.dropped = None
    if call is not node or value is None or not isinstance(node, p.Call) or not isinstance(node.func, p.Attribute):
        return
    if not _named(node.func.value) or value.flow.forwards or is_away(run, of(value)):
        return  # what a model returned is where the model is
    meetings.dropped = Dropped(node, value, disturbed(run, value))


def _named(node: p.Expr) -> bool:
    """Whether an expression names something that is there afterwards: `x`, `self.x`, `batch["x"]`."""
    while isinstance(node, (p.Attribute, p.Index)):
        if isinstance(node, p.Index) and not isinstance(node.key, (p.Const, p.Name)):
            return False
        node = node.value
    return isinstance(node, p.Name)


def disturbed(run: Run, value: Value) -> Value:
    """What becomes of something whose parts were exchanged, or that moved itself: nobody knows where they are."""
    moved = out_of_sight(value)
    if moved is value:
        return value
    run.heap.change(value, moved)
    return moved


def out_of_sight(value: Value) -> Value:
    """The same value, which may be somewhere else now."""
    if not isinstance(value, (Unknown, Tensor)) or not (value.origin.known or value.origin.fresh):
        return value
    return value.at(_PERHAPS_HERE if value.origin.fresh else NOWHERE)


def result(run: Run, values: Iterable[Value], *, scalar: bool = False) -> Origin:
    """Where that is which torch computes of these: together with those that are on another device than the CPU."""
    places = [of(value) for value in tensors_in(values)]
    away = [place for place in places if place.device in AWAY]
    away = away or [place for place in places if is_away(run, place)]
    if away:
        return away[0]
    if scalar or not places or any(place.device != CPU for place in places):
        return places[0] if len(places) == 1 and not scalar else NOWHERE
    return places[0]


def tensors_in(values: Iterable[Value]) -> Iterator[Value]:
    """What may be a tensor among these values, and in the sequences among them."""
    for value in values:
        if isinstance(value, Sequence):
            yield from tensors_in(value.content.all())
        elif isinstance(value, (Tensor, Unknown, Either, ParameterValue)):
            yield value
