"""Weights and biases that a script sets to one number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains import constants
from torch_doctor.static.domains.constants import Filled
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import Const, Fact, Module, ParameterValue, Params, Plain, Tensor, Unknown, Value

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site

_CONSTANTS = frozenset((*constants.FILLED, "constant_", "constant", "fill_"))


class Constant:
    """A parameter was set to one number at a place. The number is None if unknown."""

    def __init__(self, site: Site, value: float | None) -> None:
        self.site = site
        self.value = value


def set_parameters(
    run: Run, given: Value | None, shown: p.Expr | None, how: str, value: Value | None, node: p.Node
) -> bool:
    """Note what a function or method writes into parameters; return whether that is one number."""
    if isinstance(shown, p.Index) and isinstance(given, Unknown):  # the rest stays as it was
        for thing in map(run.objects.get, given.holds):
            if isinstance(thing, Module):
                forget(run, thing)
        return False
    if isinstance(given, Tensor):
        of = constants.parameter_of(given)
        given = of if of is not None else given
    if not isinstance(given, (Params, ParameterValue)):
        return False
    while isinstance(shown, p.Attribute) and shown.name == "data":
        shown = shown.value
    part = shown.name if isinstance(shown, p.Attribute) else ""
    is_bias = part not in ("", "weight") or (isinstance(given, Params) and given.bias)
    is_weight = part == "weight" or (isinstance(given, Params) and given.among and not given.bias)
    number = constants.FILLED.get(how)
    if how == "__set__":
        number = run.ask(Filled, value)
    elif number is None and isinstance(value, Const):
        number = constants.as_float(value.value)
    fills = how in _CONSTANTS or (how == "__set__" and number is not None)
    made = Constant(run.site(node), number) if fills else None
    for each in given.modules if isinstance(given, Params) else (given.id,):
        thing = run.objects.get(each)
        if isinstance(thing, (ParameterValue, Module)):
            if isinstance(thing, ParameterValue) or not is_bias:
                run.heap.set(thing.facts, Fact.CONSTANT, made)
            if isinstance(thing, Module) and not is_weight:
                run.heap.set(thing.facts, Fact.BIAS, number if fills and number is not None else math.nan)
    return made is not None


def forget(run: Run, module: Module) -> None:
    """Note that a module may have any weights and biases."""
    for part in module_parts.parts_of(run, module).parts:
        run.heap.set(part.facts, Fact.CONSTANT, None)
        run.heap.set(part.facts, Fact.BIAS, math.nan)


def draw_again(run: Run, layer: Module) -> None:
    """Note that a layer draws its weights and biases again."""
    run.heap.set(layer.facts, Fact.CONSTANT, None)
    run.heap.set(layer.facts, Fact.BIAS, None)


def give(run: Run, layer: Module, name: str, parameter: ParameterValue) -> None:
    """Note that a layer has this parameter as its weight or bias from now on."""
    made = parameter.fact(Fact.CONSTANT)
    if name == "weight":
        run.heap.set(layer.facts, Fact.CONSTANT, made)
    elif name == "bias":
        run.heap.set(layer.facts, Fact.BIAS, math.nan if made is None or made.value is None else made.value)


def bias_of(layer: Module) -> float | None:
    """Return the number that all biases of a layer are: 0 if it has none, None if they differ or are unknown."""
    number = layer.fact(Fact.BIAS)
    if number is not None:
        return None if math.isnan(number) else float(number)
    given = layer.settings.get("bias")
    without = isinstance(given, Const) and given.value is False
    return 0.0 if without or is_norm(layer) else None


def number_of(run: Run, value: Value) -> float | None:
    """Return the number that all numbers of an operand are."""
    parameter = constants.parameter_of(value)
    if parameter is None:
        return 1.0 if isinstance(value, Plain) else run.ask(Filled, value)
    made = parameter.fact(Fact.CONSTANT)
    return made.value if isinstance(made, Constant) else None


def is_norm(module: Module) -> bool:
    """Whether a module is one of torch's normalizations."""
    return module.cls is None and module.layer.rstrip("123d").endswith("Norm")
