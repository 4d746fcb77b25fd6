"""Computes losses, as the tables declare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import describing
from torch_doctor.static.flow import blend
from torch_doctor.static.language import operators
from torch_doctor.static.library import library_family
from torch_doctor.static.measuring import making, with_facts
from torch_doctor.static.tables import losses, placing, shapes
from torch_doctor.static.training import (
    cross_device,
    mending,
    places,
    plain_tensors,
    sums,
)
from torch_doctor.static.training.reductions import reduction_of
from torch_doctor.static.values import (
    Call,
    Either,
    Fact,
    Meta,
    Module,
    Tensor,
    Unknown,
    Value,
    either,
)
from torch_doctor.trace import (
    Kind,
    LossCalled,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Making
    from torch_doctor.trace import Tri


@library_family(losses.FUNCTIONAL)
def compute_loss(run: Run, name: str, call: Call, module: Module | None = None) -> Value:
    """Compute one of torch's losses."""
    table = losses.LOSSES[name]
    given = call.argument(table.input, table.input_name) or Unknown()
    target: Value = Unknown()
    if table.target is not None:
        target = call.argument(table.target, table.target_name) or Unknown()
    flow = operators.recorded(run, blend(value.flow for value in call.values))
    if name.rpartition(".")[2] not in placing.ON_THE_CPU:
        weights = [call.keywords[key] for key in losses.WEIGHTS if key in call.keywords] if module is None else []
        plain_tensors.combined(run, name, (given, target, *weights), call.node)
        if module is not None:
            cross_device.weighed(run, module, _weights(module), given, call)
        cross_device.together(run, name, (given, target), call.node, loss=True)
    for observe in run.observers.lossed:
        observe(run, (given, target), call.node)
    if flow.divided is not False:
        flow = replace(flow, divided=False)
    settings = module.settings if module is not None else call.keywords
    reduction = reduction_of(name, call, module)
    scalar = losses.SCALAR.get(reduction, None if "reduction" in settings or name == losses.ANY else True)
    if scalar is False and isinstance(given, Tensor) and given.scalar is True:
        scalar = True
    place = places.result(run, (given, target), scalar=scalar is not False)
    meta = _made(name, given, target, scalar=scalar)
    output = Tensor(flow, Kind.LOSS, place.by(name, run.site(call.node)), scalar=scalar, meta=meta)
    text = run.text_of_argument(call.node, table.input)
    spelled_target = "" if table.target is None else run.text_of_argument(call.node, table.target)

    def called(value: Value) -> bool:
        run.emit(
            LossCalled,
            call.node,
            loss=name,
            name=call.name,
            expects=table.expects,
            input=with_facts(run.fact(value, text), value),
            target=with_facts(run.fact(target, spelled_target), target),
            output=run.fact(output),
            reduction=reduction,
            handed_in=module is not None and module.fact(Fact.HANDED_IN),
        )
        return True

    _of_each_model(run, given, called, call.node)
    result = output.with_flow(sums.mean_loss(run, flow, reduction, meta))
    mending.computed(run, result)
    return result


def _made(name: str, given: Value, target: Value, *, scalar: Tri) -> Making | Meta | None:
    """How a loss is made: a single number, or one for each element."""
    if scalar:
        return making(shapes.LOSS, (given, target)) or Meta("floating", ())
    each = name.rpartition(".")[2] in losses.OF_ELEMENTS
    if scalar is False and (each or losses.LOSSES[name].classes):
        return making(shapes.LOSSES, (given, target), of=not each)
    return None


def _weights(module: Module) -> list[Value]:
    """The weights that a loss module of torch was built with."""
    places = losses.CONSTRUCTORS.get(module.layer, ())
    by_place = [module.given[place] for place in places if place < len(module.given)]
    return by_place + [module.settings[key] for key in losses.WEIGHTS if key in module.settings]


def _of_each_model(run: Run, value: Value, called: Callable[[Value], bool], node: p.Node) -> None:
    """Call once, or, where a test chose between models that give other kinds of values, for each on its own path."""
    if not isinstance(value, Either) or describing.agreed(value) is not None:
        called(value)
        return
    (_, first), *others = value.options
    models = [option.flow.forwards for _, option in value.options]
    apart = all(models) and sum(map(len, models)) == len(frozenset().union(*models))
    decision = run.deciding(value)
    if not apart or decision is None or not all(isinstance(option, Tensor) for _, option in value.options):
        called(value)
        return
    symbol, arm = decision
    rest = others[0][1] if len(others) == 1 else either(others)

    def second() -> bool:
        _of_each_model(run, rest, called, node)
        return True

    ways = {arm: lambda: called(first), not arm: second}
    run.fork((({symbol: True}, ways[True]), ({symbol: False}, ways[False])), node, symbol)
