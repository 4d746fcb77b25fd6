"""Where tensors and modules are, who moves them, and what meets that has to be in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.tables import words
from torch_doctor.static.training import devices, module_parts
from torch_doctor.static.values import (
    CPU,
    GPU,
    IN_MEMORY,
    NAMED,
    NOWHERE,
    Call,
    Either,
    Fact,
    Module,
    ParameterValue,
    Place,
    Sequence,
    Tensor,
    Unknown,
    UnknownName,
    Value,
    either,
    unpacked,
)
from torch_doctor.trace import DevicesMet, Owned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Conditions, Made
    from torch_doctor.trace import Site


class Meetings(Knowledge):
    """What is known of devices in the whole run: what moves there, and what met something that had not moved."""

    def __init__(self) -> None:
        self.met_at: set[Site] = set()  # constructions of which it was said that they meet tensors of another device
        self.default = False  # what nobody moves is where the model is: by a setting, or as all is on the CPU
        self.sent_away: set[object] = set()  # loaders, and sorts of data sets, of which something was moved to a device
        self.moved: tuple[p.Node | None, Value | None] = (
            None,
            None,
        )  # the last call that moved a tensor, and the tensor
        self.dropped: Dropped | None = None  # the last one, where nobody took its result
        self.moves: Moves | None = None  # what is moved while an item of a data set is made
        self.blamed: set[object] = set()  # what was on the CPU and met something that is not
        self.scatters = False  # the module that is being called moves what it is given itself
        self.outer_call: tuple[Site | None, str] = (None, "")  # where it was called, and as what
        self.outer_arguments: Args = ()  # and with what


DEFAULTS = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
"""Functions after which nobody can tell where a tensor is made that is told nothing."""
TOGETHER = frozenset(
    words(
        """
        + - * / // % @ == != < <= > >= & | ^ add sub subtract mul multiply div divide matmul mm bmm mv dot addmm eq ne
        lt le gt ge cat concat concatenate stack hstack vstack where maximum minimum pow dist cosine_similarity
        """
    )
)
"""Operations that take tensors of one device only."""
_AWAY = (GPU, NAMED)


# --- where things are ---


@library_family(DEFAULTS, stage=Stage.NOTE)
def default_set(run: Run, _: str, __: Call) -> None:
    """What nobody moves may be where the model is from here on."""
    run.of(Meetings).default = True


def of(value: Value | None) -> Value:
    """Where a tensor is: a `Place`, or one of several."""
    if isinstance(value, Either):
        return either((facts, of(option)) for facts, option in value.options)
    if isinstance(value, Sequence):
        data = unpacked(value)
        return NOWHERE if data is value else of(data)
    made = value.made if isinstance(value, (Tensor, ParameterValue)) else None
    if made is not None and not (isinstance(value, ParameterValue) and value.declared):
        return IN_MEMORY if made.sized and not made.births and not made.homes else NOWHERE  # of a forward's own: TDR801
    return value.place or NOWHERE if isinstance(value, (Tensor, Unknown)) else NOWHERE


def options(run: Run, place: Value, facts: Conditions = frozenset()) -> Iterator[tuple[Conditions, Place]]:
    """The places that something may be at on the current path, each with what has to hold for it beside `facts`."""
    if isinstance(place, Either):
        for needs, option in place.options:
            if any(symbol[0] == "option" for symbol, _ in needs):
                yield facts | needs, NOWHERE  # one of several was moved, and nothing tells which
                continue
            known = dict(facts)
            if all(run.assumed.get(symbol, known.get(symbol, arm)) is arm for symbol, arm in needs):
                yield from options(run, option, facts | needs)
    else:
        yield facts, _told(run, place) if isinstance(place, Place) else NOWHERE


def _told(run: Run, place: Place) -> Place:
    """What a loader gives is on the CPU where the script moves something of it."""
    if place.loaders and not place.device and place.loaders & run.of(Meetings).sent_away:
        return Place(CPU, place.how, place.site, sized=place.sized, loaders=place.loaders)
    return place


def is_away(run: Run, place: Value) -> bool:
    """Whether something may be on another device than the CPU on the current path."""
    return any(option.device in _AWAY for _, option in options(run, place))


def stay(run: Run, modules: Iterable[int]) -> bool:
    """Whether the parameters of these are on the CPU on the current path, as far as it is known; they move together."""
    found = _devices(run, modules)
    return CPU in found and found.isdisjoint(_AWAY)


def went(run: Run, modules: Iterable[int]) -> bool:
    """Whether the parameters of these may be on another device than the CPU on the current path."""
    return not _devices(run, modules).isdisjoint(_AWAY)


def _devices(run: Run, modules: Iterable[int]) -> set[str]:
    things = [run.objects.get(number) for number in modules]
    return {each.device for it in things if isinstance(it, Module) for _, each in options(run, it.fact(Fact.PLACE))}


def part(place: Value | None) -> Value | None:
    """Where a part of something is that is not known to be a tensor: a batch's."""
    if not isinstance(place, Place) or place.sized:
        return None
    return Place(place.device, place.how, place.site, sized=True, loaders=place.loaders)


def of_computed(run: Run, name: str, call: Call, *, made: bool, scalar: bool) -> Value | None:
    """Where a function of torch puts its result: of what it is given, or `made` there where it is told, or beside another."""
    everything = call.values
    if not made:
        together(run, name, everything, call.node)
        return result(run, everything, scalar=scalar)
    if "device" in call.keywords:
        goal = devices.chosen(call.keywords["device"])
        if isinstance(goal, Value):
            return of(goal)
        if goal == GPU:
            _note(run, call.node)
        return Place(goal, "moved", run.site(call.node), sized=True) if goal else None
    beside = name.endswith("_like") or name.startswith("new_")
    return of(call.args[0]) if beside and call.args else None


# --- who moves them ---


class Moves:
    """Where tensors were moved to the GPU since this was made, on all paths that have one."""

    def __init__(self, run: Run) -> None:
        self.sites: list[Site] = []
        self._assumed = run.assumed

    def note(self, run: Run, node: p.Node) -> None:
        """A move, unless some setting decides whether it happens."""
        if all(symbol in self._assumed or _asks_for_gpu(symbol) for symbol in run.assumed):
            self.sites.append(run.site(node))


def _note(run: Run, node: p.Node) -> None:
    """Note a move to the GPU, where somebody wants to know."""
    moves = run.of(Meetings).moves
    if moves is not None:
        moves.note(run, node)


def _asks_for_gpu(symbol: object) -> bool:
    """Whether a test asks whether there is a GPU."""
    if isinstance(symbol, tuple):
        return any(map(_asks_for_gpu, symbol))
    return isinstance(symbol, str) and symbol.endswith((".is_available", ".device_count"))


def moved(run: Run, value: Value, method: str, call: Call) -> Value | None:
    """Where the result of a move is; the move is remembered, for the case that nobody takes it."""
    before = of(value)
    goal = devices.goal(method, call)
    if goal is None:
        return before
    if isinstance(goal, Value):
        return of(goal)
    if goal == GPU:
        _note(run, call.node)
    if goal in _AWAY:
        run.of(Meetings).moved = (call.node, value)
        if isinstance(before, Place):
            run.of(Meetings).sent_away |= before.loaders
    if not goal:
        return None
    sized = isinstance(value, Tensor) or (isinstance(before, Place) and before.sized)
    return Place(goal, "moved", run.site(call.node), sized=sized)


def module_moved(run: Run, module: Module, method: str, call: Call) -> None:
    """A module moves in place, with all that is in it."""
    goal = devices.goal(method, call)
    if goal is None:
        return
    place = of(goal) if isinstance(goal, Value) else Place(goal, "parameter", run.site(call.node))
    inside = module_parts.parts_of(run, module)
    if inside.opaque or any(isinstance(name, UnknownName) for name in module.fields):  # any other may be a part of it
        lost_sight(run, (number for number, thing in run.objects.items() if isinstance(thing, Module)), ())
    for each in inside.parts:
        run.heap.set(each.facts, Fact.PLACE, place)


def lost_sight(run: Run, modules: Iterable[int], loaders: Iterable[int]) -> None:
    """Somebody out of sight got these, and may have moved them, or what they give."""
    for number in modules:
        thing = run.objects.get(number)
        if isinstance(thing, Module):
            run.heap.set(thing.facts, Fact.PLACE, NOWHERE)
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
    meetings = run.of(Meetings)
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
    if not isinstance(value, (Unknown, Tensor)) or (value.place is None and getattr(value, "made", None) is None):
        return value
    moved = value.at(None)
    run.heap.change(value, moved)
    return moved


def out_of_sight(value: Value) -> Value:
    """The same value, which may be somewhere else now."""
    if isinstance(value, Tensor):
        return value.at(None) if value.place is not None else value
    return Unknown(value.flow, value.holds) if type(value) is Unknown and value.place is not None else value


# --- what meets ---


def result(run: Run, values: Iterable[Value], *, scalar: bool = False) -> Value | None:
    """Where that is which torch computes of these: together with those that are on another device than the CPU."""
    places = [of(value) for value in _tensors(values)]
    away: list[Value] = [place for place in places if isinstance(place, Place) and place.device in _AWAY]
    away = away or [place for place in places if is_away(run, place)]
    if away:
        return away[0]
    if scalar or not places or any(not isinstance(place, Place) or place.device != CPU for place in places):
        return places[0] if len(places) == 1 and not scalar else None
    return places[0]


def together(run: Run, name: str, values: Iterable[Value], node: p.Node, *, loss: bool = False) -> None:
    """Write that an operation gets a tensor on the CPU and one that is not there, and takes only one device."""
    if not loss and name.rpartition(".")[2] not in TOGETHER:
        return
    given = list(_tensors(values))
    places = [of(value) for value in given]
    if sum(place is not NOWHERE for place in places) < 2:  # noqa: PLR2004 - a pair
        return
    for place in places:
        for facts, away in options(run, place):
            if away.device not in _AWAY:
                continue
            for other in places:
                here = _surely_here(run, other, facts)
                if here is not None and (away.device == GPU or here.how != "parameter"):
                    tell(run, here, node, name.rpartition(".")[2], away=away, loss=loss)
                    return


def into_layer(run: Run, layer: Module, given: Value | None, node: p.Node) -> None:
    """A layer with parameters is given a tensor."""
    if run.of(Meetings).scatters or given is None:
        return
    own, other = layer.fact(Fact.PLACE), of(given)
    if own is NOWHERE or other is NOWHERE or not _belongs(run, layer):
        return
    name = layer.layer.rpartition(".")[2] or layer.name
    around = [place for module in run.modules_called if (place := module.fact(Fact.PLACE)) is not NOWHERE]
    direct = any(given is each for each in run.of(Meetings).outer_arguments)
    for facts, place in options(run, own):
        if place.device in _AWAY and (here := _surely_here(run, other, facts)) is not None:
            if all(is_away(run, place) for place in around):
                tell(run, here, node, name, away=place, given=direct)
            return
    if any(is_away(run, place) for place in around):
        return  # not all parts of a large module are known to move with it
    for facts, place in options(run, other):
        if place.device == GPU and (here := _surely_here(run, own, facts)) is not None:
            tell(run, here, node, name, away=place)
            return


def _belongs(run: Run, layer: Module) -> bool:
    """Whether a layer is part of the module that is called as a whole: else it does not move with it, for other reasons."""
    return not run.modules_called or layer in module_parts.parts_of(run, run.modules_called[0]).parts


def _surely_here(run: Run, place: Value, facts: Conditions) -> Place | None:
    """The place, where something is on the CPU for certain as soon as these facts hold, and is no single number."""
    found = [option for _, option in options(run, place, facts)]
    sure = all(option.device == CPU and (option.sized or option.how == "parameter") for option in found)
    return found[0] if found and sure else None


def _tensors(values: Iterable[Value]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, Sequence):
            yield from _tensors(value.content.all())
        elif isinstance(value, (Tensor, Unknown, Either, ParameterValue)):
            yield value


def tell(  # noqa: PLR0913 - what meets, and how
    run: Run, here: Place, node: p.Node, operation: str, *, away: Place, loss: bool = False, given: bool = False
) -> None:
    """Write that two devices met, once for each culprit.

    Within a forward what the script has put on the CPU, or made, may be the module's own, unless it was `given`.
    """
    if run.modules_called and here.how in ("made", "moved") and not given:
        return
    where, name = run.of(Meetings).outer_call if run.modules_called or not loss else (None, "")
    culprits: set[object] = set(here.loaders) or {here.site or run.site(node)}
    if here.how == "parameter":
        culprits = {("parameter", run.modules_called[0].id if run.modules_called else 0)}
    if run.of(Meetings).default or culprits & run.of(Meetings).blamed or run.trace.of(Owned):
        return
    run.of(Meetings).blamed |= culprits
    run.emit(
        DevicesMet,
        node,
        operation=operation,
        loss=loss,
        elements=0,
        how=here.how,
        proof="",
        made_at=here.site,
        given=where is not None,
        forward_site=where,
        name=name,
        moved_at=away.site,
    )


# --- tensors that a forward makes on the CPU ---


def met(run: Run, made: Made, beside: Value, name: str, node: p.Node) -> None:
    """Write that a tensor which a forward made on the CPU is combined with one that is where the module, or its input, is.

    Modules without parameters may belong to the data, which stays on the CPU: of theirs only what requires gradients is
    known to come from a model.
    """
    root = run.modules_called[0]
    if not made.sized or run.of(Meetings).default or not (beside.flow.graph or _has_parameters(run, root)):
        return
    if run.trace.begins_outside and run.imports.mentioned(*(name.rpartition(".")[2] for name in sorted(DEFAULTS))):
        return  # whoever uses the class has perhaps said where tensors are made
    for birth in made.births:
        if birth not in run.of(Meetings).met_at:
            run.of(Meetings).met_at.add(birth)
            operation = name.rpartition(".")[2] or run.text(node.func) if hasattr(node, "func") else name
            run.emit(
                DevicesMet,
                node,
                operation=operation,
                loss=False,
                elements=0,
                how="made",
                proof="",
                made_at=birth,
                inside=True,
                name=root.cls.name if root.cls is not None else root.name,
            )


def _has_parameters(run: Run, module: Module) -> bool:
    return bool(module_parts.parts_of(run, module).owners)
