"""Device tracking: operations that take tensors of one device and get them from two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import placing, words
from torch_doctor.static.training import places
from torch_doctor.static.training.device import devices
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    CPU,
    GPU,
    NOWHERE,
    Call,
    Fact,
    Module,
    Origin,
    Params,
    Tensor,
    Unknown,
    Value,
)
from torch_doctor.trace import DevicesMet, Owned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Conditions
    from torch_doctor.trace import Site


TOGETHER = frozenset(
    words(
        """
        + - * / // % @ == != < <= > >= & | ^ add sub subtract mul multiply div divide matmul mm bmm mv dot addmm eq ne
        lt le gt ge cat concat concatenate stack hstack vstack where maximum minimum pow dist cosine_similarity
        """
    )
)
"""Operations that take tensors of one device only."""
OF_NUMBERS = frozenset(
    ["+", "-", "*", "/", "//", "%", "add", "sub", "subtract", "mul", "multiply", "div", "divide", "pow"]
)
"""Those of which one side is often a plain number: a batch has counts, too."""


class Meetings(Knowledge):
    """What met something of another device, and how the module was called in which that happened."""

    met_at: set[Site] = per_run(set)  # constructions of which it was said that they meet tensors of another device
    scatters: bool = per_run(bool)  # the module that is being called moves what it is given itself
    outer_call: tuple[Site | None, str] = per_run(lambda: (None, ""))  # where it was called, and as what
    outer_arguments: Args = per_run(tuple)  # and with what


def on_one_device(name: str, call: Call) -> Args:
    """The arguments of a function of torch that have to be on one device."""
    short = name.rpartition(".")[2]
    if short in placing.FIRST_ALONE:
        return call.args[:1] or call.values[:1]
    free = placing.ON_THE_CPU.get(short, ())
    places_free, names_free = {place for place, _ in free}, {name for _, name in free}
    return (
        *(value for place, value in enumerate(call.args) if place not in places_free),
        *(value for name, value in call.keywords.items() if name not in names_free),
    )


def of_computed(run: Run, name: str, call: Call, *, made: bool, scalar: bool) -> Origin:
    """Where a function of torch puts its result: of what it is given, or `made` there where it is told, or beside another."""
    everything = on_one_device(name, call)
    if not made:
        together(run, name, everything, call.node)
        return places.result(run, everything, scalar=scalar)
    if "device" in call.keywords:
        device = call.keywords["device"]
        goal, needs = devices.chosen(device), devices.needs_of(device)
        if isinstance(goal, Value):
            return places.of(goal)
        if goal == GPU:
            places.note_move(run, call.node)
        sent = Origin(device=goal or "", needs=needs, how="moved", since=run.site(call.node), sized=True)
        return sent if goal else NOWHERE
    beside = name.endswith("_like") or name.startswith("new_") or name == "new"
    return places.of(call.args[0]) if beside and call.args else NOWHERE


def together(run: Run, name: str, values: Iterable[Value], node: p.Node, *, loss: bool = False) -> None:
    """Write that an operation gets a tensor on the CPU and one that is not there, and takes only one device."""
    if not loss and name.rpartition(".")[2] not in TOGETHER:
        return
    given = list(map(run.heap.current, places.tensors_in(values)))
    found = [places.of(value) for value in given]
    if sum(place is not NOWHERE for place in found) < 2:
        return
    numbers = not loss and name.rpartition(".")[2] in OF_NUMBERS
    several = [
        place
        for value, place in zip(given, found, strict=True)
        if getattr(value, "scalar", None) is not True and not (numbers and isinstance(value, Unknown))
    ]
    for place in found:
        for facts, away in places.options(run, place):
            if away.device not in places.AWAY:
                continue
            for other in several:  # a single number on the CPU may meet what is not there
                here = _surely_here(run, other, facts)
                if here is not None and (away.device == GPU or here.how != "parameter"):
                    tell(run, here, node, name.rpartition(".")[2], away=away, loss=loss)
                    return


def into_layer(run: Run, layer: Module, given: Value | None, node: p.Node) -> None:
    """A layer with parameters is given a tensor."""
    if run.of(Meetings).scatters or given is None:
        return
    own, other = layer.fact(Fact.ORIGIN), places.of(given)
    if own is NOWHERE or other is NOWHERE or not _belongs(run, layer):
        return
    name = layer.layer.rpartition(".")[2] or layer.name
    around = [place for module in run.modules_called if (place := module.fact(Fact.ORIGIN)) is not NOWHERE]
    direct = any(given is each for each in run.of(Meetings).outer_arguments)
    for facts, place in places.options(run, own):
        if place.device in places.AWAY and (here := _surely_here(run, other, facts)) is not None:
            if all(places.is_away(run, place) for place in around):
                tell(run, here, node, name, away=place, given=direct)
            return
    if any(places.is_away(run, place) for place in around):
        return  # not all parts of a large module are known to move with it
    for facts, place in places.options(run, other):
        if place.device == GPU and (here := _surely_here(run, own, facts)) is not None:
            tell(run, here, node, name, away=place)
            return


def _belongs(run: Run, layer: Module) -> bool:
    """Whether a layer is part of the module that is called as a whole: else it does not move with it, for other reasons."""
    return not run.modules_called or layer in module_parts.parts_of(run, run.modules_called[0]).parts


def _surely_here(run: Run, place: Origin, facts: Conditions) -> Origin | None:
    """The place, where something is on the CPU for certain as soon as these facts hold, and is no single number."""
    found = [option for _, option in places.options(run, place, facts)]
    sure = all(option.device == CPU and (option.sized or option.how == "parameter") for option in found)
    return found[0] if found and sure else None


def tell(
    run: Run, here: Origin, node: p.Node, operation: str, *, away: Origin, loss: bool = False, given: bool = False
) -> None:
    """Write that two devices met, once for each culprit.

    Within a forward what the script has put on the CPU, or made, may be the module's own, unless it was `given`.
    """
    if run.modules_called and here.how in ("made", "moved") and not given:
        return
    where, name = run.of(Meetings).outer_call if run.modules_called or not loss else (None, "")
    culprits: set[object] = set(here.loaders) or {here.since or run.site(node)}
    if here.how == "parameter":
        culprits = {("parameter", run.modules_called[0].id if run.modules_called else 0)}
    blamed = run.state.fact(Fact.BLAMED)
    if run.state.fact(Fact.PLACED_BY_DEFAULT) or culprits & blamed:
        return
    if any(map(run.may_have_happened, run.trace.of(Owned))):
        return  # whoever owns the loop moves the batches
    run.heap.set(run.state.facts, Fact.BLAMED, blamed | culprits)
    run.emit(
        DevicesMet,
        node,
        operation=operation,
        loss=loss,
        elements=0,
        how=here.how,
        proof="",
        since=here.since,
        given=where is not None,
        forward_site=where,
        name=name,
        moved_at=away.since,
    )


def met(run: Run, made: Origin, beside: Value, name: str, node: p.Node) -> None:
    """Write that a tensor which a forward made on the CPU is combined with one that is where the module, or its input, is.

    Modules without parameters may belong to the data, which stays on the CPU: of theirs only what requires gradients is
    known to come from a model.
    """
    root = run.modules_called[0]
    if (
        not made.sized
        or _is_on_the_cpu(run, beside)
        or run.state.fact(Fact.PLACED_BY_DEFAULT)
        or any(devices.lacks_gpu(symbol, holds) for symbol, holds in run.assumed.items())
        or not (beside.flow.graph or _has_parameters(run, root))
    ):
        return
    if run.trace.begins_outside and run.imports.mentioned(
        *(name.rpartition(".")[2] for name in sorted(places.DEFAULTS))
    ):
        return  # whoever uses the class has perhaps said where tensors are made
    if not _asks_for_a_gpu(run) or _trains_on_the_cpu(run, root, beside):
        return
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
                since=birth,
                inside=True,
                name=root.cls.name if root.cls is not None else root.name,
                beside=_input_of(run, birth),
            )


def _is_on_the_cpu(run: Run, beside: Value) -> bool:
    """Whether these are parameters that nobody moved, or were computed by layers that the forward itself has just built."""
    given = isinstance(beside, Params)
    modules = beside.modules if isinstance(beside, Params) else beside.flow.modules
    owners = [run.objects.get(each) for each in modules]
    own = [each.fact(Fact.ORIGIN) for each in owners if isinstance(each, Module)]
    return bool(own) and len(own) == len(owners) and all(at.as_built and (given or at.births) for at in own)


def weighed(run: Run, module: Module, weights: Iterable[Value], given: Value, call: Call) -> None:
    """Write that the weights of a loss module stayed on the CPU, where they were made, and meet a model's output that did not.

    They are part of that module, and would move with it.
    """
    held = any(isinstance(each, Tensor) and each.origin.fresh and each.origin.sized for each in weights)
    born = module.born
    unmoved = module.fact(Fact.ORIGIN).as_built and not run.trace.begins_outside
    if not held or not unmoved or born is None or not given.flow.forwards or not places.is_away(run, places.of(given)):
        return
    if run.state.fact(Fact.PLACED_BY_DEFAULT) or any(map(run.may_have_happened, run.trace.of(Owned))):
        return
    if born not in run.of(Meetings).met_at:
        run.of(Meetings).met_at.add(born)
        operation = module.layer.rpartition(".")[2]
        fields = {"how": "made", "since": born, "inside": True, "name": call.name, "elements": 0, "proof": ""}
        run.emit(DevicesMet, call.node, operation=operation, loss=True, **fields)


def _asks_for_a_gpu(run: Run) -> bool:
    """Whether somebody has a GPU in mind: a script that trains, or what it imports.

    Where callers are out of sight, and for a file that only shows what its modules do, it is anybody in the project.
    """
    script = run.main.source.path
    if run.trace.begins_outside or not run.imports.mentioned_by(script, *placing.TRAINING):
        return run.imports.mentioned(*placing.ASKING)
    return run.imports.mentioned_by(script, *placing.ASKING)


def _trains_on_the_cpu(run: Run, root: Module, beside: Value) -> bool:
    """Whether a script that trains has on the CPU what its forward meets: another class, or another section, is for the GPU.

    That is the module itself, or for one without parameters the one whose output it gets. Where code out of sight got it, it
    may be anywhere, and what it is called with tells.
    """
    if run.trace.begins_outside or not run.imports.mentioned_by(run.main.source.path, *placing.TRAINING):
        return False
    parts = module_parts.parts_of(run, root).parts
    own = frozenset(part.id for part in parts if module_parts.has_parameters(run, part) is not False)
    modules = own or beside.flow.modules
    if places.stay(run, modules):
        return True
    given = run.of(Meetings).outer_arguments
    return places.unmoved(run, modules) and not any(places.is_away(run, places.of(value)) for value in given)


def _input_of(run: Run, site: Site) -> str:
    """The name of a tensor that the function under way was given, where this place lies in it."""
    function = run.stack[-1] if run.stack else None
    inside = None if function is None else function.unit.site(function.node.at)
    if function is None or inside is None or inside[:1] + inside[5:] != site[:1] + site[5:]:
        return ""
    if not inside.row <= site.row <= inside.end_row:
        return ""
    names = (parameter.name for parameter in function.node.parameters)
    return next((name for name in names if isinstance(run.frame.fields.get(name), (Tensor, Unknown))), "")


def _has_parameters(run: Run, module: Module) -> bool:
    return bool(module_parts.parts_of(run, module).owners)
