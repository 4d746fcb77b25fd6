"""Adapters that libraries put into models: what they freeze, what they add, and what switches them off."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from torch_doctor.static.library import library_family
from torch_doctor.static.tables import wrappers
from torch_doctor.static.training import places
from torch_doctor.static.training.module import module_parts, registering
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import (
    NOTHING,
    Call,
    Const,
    Default,
    Fact,
    Making,
    Module,
    Object,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    held,
    symbol_of,
)
from torch_doctor.trace import ModuleBuilt

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.libraries.library import Adapting
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site, Tri

OfModule: TypeAlias = "Callable[[Run, Module, str, Call], Value | None]"
PAIR = 2
"""Matrices of an adapter of low rank, and sizes of each."""
NEUTRAL_SETTINGS = (None, "none", False, True)
"""Values of settings that leave nothing but the adapter to train."""


class Disabled(Plain):
    """A context in which adapters compute nothing; `born` is where it was made."""

    __slots__ = ("adapters", "born")

    def __init__(self, adapters: tuple[Module, ...], born: Site) -> None:
        super().__init__()
        self.adapters = adapters
        self.born = born


def of_model(run: Run, model: Module) -> tuple[Module, ...]:
    """The adapters that a library put into a model."""
    return tuple(part for part in module_parts.parts_of(run, model).parts if part.fact(Fact.ADAPTS) is not None)


@library_family(wrappers.ADAPTER_SETTINGS)
def settings(run: Run, name: str, call: Call) -> Tool:
    """The settings of an adapter."""
    return run.own(Tool(run.site(call.node), name, held(call.values), call.args, dict(call.keywords)))


@library_family(wrappers.ADAPTERS)
def adapted(run: Run, name: str, call: Call) -> Value:
    """An adapter is put into a model: that is frozen, and is what the call returns."""
    how = wrappers.ADAPTERS[name]
    model = call.argument(how.model, "model")
    if isinstance(model, Module):
        places.lost_sight(run, module_parts.with_parts(run, frozenset((model.id,))), ())
        _put(run, name, model, how, call)
    return Unknown() if model is None else model


def _put(run: Run, name: str, model: Module, how: Adapting, call: Call) -> None:
    base = module_parts.parts_of(run, model).owners
    asked = call.argument(how.settings, "peft_config", "config") if how.settings is not None else None
    made: Module = run.own(Module(run.site(call.node), layer=name, sensitive=False, name=name))
    made.facts[Fact.INITIALISED] = True
    made.facts[Fact.ORIGIN] = model.fact(Fact.ORIGIN)
    made.facts[Fact.ADAPTS] = base
    run.emit(ModuleBuilt, call.node, module=made.id, class_name=name, sensitive=False, parameters=True)
    frozen: Value = Const(value=False) if how.settings is None or _only_adapter(asked) else Unknown()
    parameters.set_trainable(run, base, frozen, call.node, whole=True)
    registering.set_module_attribute(run, model, f"adapter {len(of_model(run, model))}", made, call.node)
    parameters.set_trainable(run, frozenset((made.id,)), _trains(how, asked, call), call.node, whole=True)


def _only_adapter(asked: Value | None) -> bool:
    """Whether these settings are known, and leave nothing of the model to train."""
    if not isinstance(asked, Tool) or asked.args:
        return False
    more = wrappers.ADAPTER_SETTINGS.get(asked.name)
    given = {**asked.keywords, **asked.fields}
    return more is not None and all(
        isinstance(given[key], Const) and given[key].value in NEUTRAL_SETTINGS for key in more if key in given
    )


def _trains(how: Adapting, asked: Value | None, call: Call) -> Value:
    """Whether an adapter trains, as a truth value."""
    if how.switch is not None:
        if "**" in call.keywords or "config" in call.keywords:
            return Unknown()
        given = call.keywords.get(how.switch[0]) or call.argument(how.switch[1])
        return Const(value=False) if given is None else Unknown() if isinstance(given, Default) else given
    if not isinstance(asked, Tool):
        return Unknown()
    inference = asked.fields.get("inference_mode", asked.keywords.get("inference_mode"))
    if inference is None:
        return Unknown() if "**" in asked.keywords else Const(value=True)
    return Const(value=not inference.value) if isinstance(inference, Const) else Unknown()


@library_family(wrappers.FREEZING)
def frozen(run: Run, name: str, call: Call) -> Value:
    """All of a model is frozen, perhaps but for its adapters."""
    position, keeps = wrappers.FREEZING[name]
    model = call.argument(position, "model")
    if isinstance(model, Module):
        inside = module_parts.parts_of(run, model)
        own = frozenset(part.id for part in inside.parts if keeps and part.layer.startswith(keeps))
        alone = not keeps or (len(call.args) == 1 and not call.keywords)  # else it may keep biases
        flag: Value = Const(value=False) if alone else Unknown()
        parameters.set_trainable(run, inside.owners - own, flag, call.node, whole=True)
        parameters.set_trainable(run, own, Const(value=True), call.node, whole=True)
    if keeps:
        return NOTHING
    return Unknown() if model is None else model


def _method(run: Run, of: Module, name: str, call: Call) -> Value | None:
    """A method that a library gives models with an adapter; None where this model has none."""
    adapters = of_model(run, of)
    if not adapters:
        return None
    does, site = wrappers.ADAPTER_METHODS[name], run.site(call.node)
    if does == "disabled within":
        return Disabled(adapters, site)
    for adapter in adapters:
        if does in ("disabled", "merged"):
            run.heap.set(adapter.facts, Fact.ADAPTER_OFF, (does, site))
        elif does == "on":
            run.heap.set(adapter.facts, Fact.ADAPTER_OFF, None)
        elif does == "chosen":
            run.heap.set(adapter.facts, Fact.ADAPTER_OFF, None)
            run.heap.set(adapter.facts, Fact.FROZEN, None)
        elif does == "gone":
            _taken_out(run, of, adapter)
    return of if does == "gone" else Plain()


def _taken_out(run: Run, of: Module, adapter: Module) -> None:
    for field, value in list(of.fields.items()):
        if value is adapter:
            run.heap.drop(of.fields, field)
    run.heap.restructure()


METHODS: dict[str, OfModule] = dict.fromkeys(wrappers.ADAPTER_METHODS, _method)
"""The methods that libraries give models with an adapter."""


# --- adapters that a project writes itself ---


def sizes(thing: Object | None) -> tuple[Value, ...]:
    """The two sizes of a matrix, or of a layer that multiplies with one; nothing for anything else."""
    if isinstance(thing, Module):
        named = tuple(thing.settings.values())
        return (*thing.given, *named)[:PAIR] if thing.table is not None and thing.table.parameters else ()
    made = thing.fact(Fact.MADE) if isinstance(thing, ParameterValue) else None
    while isinstance(made, Making) and made.name in ("*", "/"):
        first = made.args[0]
        made = first.meta if isinstance(first, Tensor) else None
    sizes = made.args if isinstance(made, Making) else ()
    if sizes and isinstance(sizes[0], (Tensor, Params, ParameterValue)):
        sizes = sizes[1:]
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        sizes = sizes[0].content.items
    return tuple(sizes)


def low_rank(one: tuple[Value, ...], other: tuple[Value, ...]) -> bool:
    """Whether two matrices share a size that is smaller than their other sizes, as far as these are known."""
    for inner, outer in ((one[0], one[1]), (one[1], one[0])):
        for its, others in ((other[0], other[1]), (other[1], other[0])):
            if _equal(inner, its) and not any(_equal(inner, size) or _less(size, inner) for size in (outer, others)):
                return True
    return False


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, Const) and isinstance(other, Const):
        return bool(one.value == other.value)
    return one is other or (isinstance(one, Plain) and isinstance(other, Plain) and symbol_of(one) == symbol_of(other))


def _less(one: Value, other: Value) -> bool:
    if not (isinstance(one, Const) and isinstance(other, Const)):
        return False
    return isinstance(one.value, int) and isinstance(other.value, int) and one.value < other.value


def built_for_it(run: Run, layer: Module, around: Module, call: Call) -> bool:
    """Whether a layer was built in the call that puts an adapter beside it, or for the same module: nothing was trained before."""
    maker = next((each for each in run.building if each is not around), None)
    born, site = layer.born, run.site(call.node)
    inside = born is not None and (born.row, born.column) >= (site.row, site.column) and born.end_row <= site.end_row
    return inside if maker is None else layer.id > maker.id


def flags(run: Run, numbers: frozenset[int]) -> tuple[Tri, Site | None]:
    """Whether these all require gradients, or none; and where the script said so, of all of them at once."""
    things = [run.objects.get(number) for number in numbers if has_weights(run, number)]
    found = [(thing.fact(Fact.FROZEN), thing.fact(Fact.MAY_BE_FROZEN)) for thing in things if thing is not None]
    at = {thing.fact(Fact.FLAGGED) for thing in things if thing is not None}
    trains: Tri = None
    if found and all(each == (False, False) for each in found):
        trains = True
    elif found and all(frozen is True for frozen, _ in found):
        trains = False
    return trains, at.pop() if len(at) == 1 else None


def has_weights(run: Run, number: int) -> bool:
    """Whether something may own parameters itself."""
    thing = run.objects.get(number)
    return not isinstance(thing, Module) or module_parts.has_parameters(run, thing) is not False


def ranked(layer: Module) -> bool:
    """Whether a layer of a library surely has an adapter beside its weights: its rank is given, and not 0."""
    rank = layer.settings.get("r")
    return isinstance(rank, Const) and bool(rank.value)
