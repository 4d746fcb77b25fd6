"""Tensors that a module keeps as plain attributes, and what becomes of them in `forward`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.measuring import measured
from torch_doctor.static.state import per_run
from torch_doctor.static.training import cross_device
from torch_doctor.static.training.device import devices
from torch_doctor.static.training.module import module_classes
from torch_doctor.static.values import (
    FRESH,
    GPU,
    NOWHERE,
    Call,
    ClassValue,
    Const,
    Either,
    Fact,
    Lib,
    Module,
    Origin,
    ParameterValue,
    Params,
    PlainAttribute,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    asked,
    either,
    of_fresh,
)
from torch_doctor.trace import PlainTensorUsed, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Site


class PlainTensors(Knowledge):
    """Plain tensors of modules that a forward uses."""

    reported: set[Site] = per_run(set)  # attributes of which that was said


_OF_DATA = frozenset({"tensor", "as_tensor", "asarray", "scalar_tensor"})
"""Functions whose result has the dimensions of what it is made of; the others are given a size, or have one."""
_SHARING = frozenset({"as_tensor", "asarray", "Variable"})
"""Those that give back a tensor that they are given, or one beside it."""
_BESIDE_WHAT_IS_GIVEN = _SHARING | {"bernoulli", "binomial", "multinomial", "normal", "poisson"}
"""Those whose result is where the tensor is that they are given, be it the parameters of what they draw."""
_ALWAYS_SIZED = frozenset(
    {"arange", "range", "linspace", "logspace", "eye", "from_numpy", "tril_indices", "triu_indices"}
)
_TO_OTHERS = frozenset({"to", "cuda", "cpu", "xpu", "mps", "type_as", "pin_memory", "share_memory_", "type"})
"""Methods after which a tensor is somewhere else, or may be."""
_SHAPING = frozenset({"view", "reshape", "unsqueeze", "expand", "repeat", "unflatten", "broadcast_to", "tile"})
_MOVERS = ("_apply", "to", "cuda", "__setattr__")
"""Methods of a module that decide what moves with it, and what is registered."""


# --- where tensors come from ---


def of_factory(run: Run, name: str, call: Call) -> Origin | None:
    """What is known of a tensor that a function of torch makes of numbers alone; None where it is put on some device."""
    short = name.rpartition(".")[2]
    maker = run.building[-1].id if run.building else 0
    given = call.values
    brought = short in _SHARING or short == "from_numpy" or any(value.flow.cuts for value in given)
    # Data from elsewhere is no work of forward's.
    births = (run.site(call.node),) if run.modules_called and not brought else ()
    if {"device", "out", "**"} & set(call.keywords) or short.endswith("_like") or short == "Variable":
        return None  # what `Variable` is given is a tensor, whether anybody knows it or not
    options = [option for value in given for option in _options(value)]
    if any(
        isinstance(option, (Tensor, Unknown, Tool) if short in _BESIDE_WHAT_IS_GIVEN else Tensor) for option in options
    ):
        return None
    first = call.argument(0, "size", "data")
    if short == "randint":  # its size comes after the bounds
        first = next((value for value in given if isinstance(value, Sequence)), call.keywords.get("size", first))
    if short in _ALWAYS_SIZED:
        return replace(FRESH, builder=maker, births=births)
    if first is None:
        return None  # an empty tensor: the place of one that comes later
    empty = isinstance(first, Sequence) and not first.content.all()
    sizes = first.content.items if isinstance(first, Sequence) else (first,)
    zero = short not in _OF_DATA and any(isinstance(size, Const) and size.value in ((), 0) for size in sizes)
    if zero or (empty and short in _OF_DATA | {"Tensor", "FloatTensor"}):
        return None
    if short in _OF_DATA:
        return replace(FRESH, builder=maker, sized=isinstance(first, Sequence), births=births)
    return replace(FRESH, builder=maker, sized=not empty, births=births)


def combined(run: Run, name: str, values: Iterable[Value], node: p.Node, *, scalar: bool = False) -> Origin | None:
    """What is known of a tensor that is computed of these values.

    Where a module's plain attribute is computed with a tensor from elsewhere, that is written: they have to be on one
    device.
    """
    values = tuple(values)
    if name == "cpu":
        return FRESH
    found: list[Origin] = []
    foreign = unsure = False
    beside = None
    for value in _each(values):
        made = _made(value)
        if made is not None:
            found.append(made)
        elif _is_tensor(value):
            foreign = True
            beside = value if _is_beside_the_model(value) else beside
        elif isinstance(value, Unknown):
            unsure = True  # it may be a number
    if not found:
        return None
    if name in _TO_OTHERS and not (values[1:] and all(map(_is_type, values[1:]))):
        goal = devices.goal(name, Call(values[1:], {}, node))
        return _made(goal) if isinstance(goal, Value) else None  # `.to(x.device)`: it is where `x` is
    if foreign and run.modules_called:
        for made in found:
            _used(run, made, node)
            if beside is not None:
                cross_device.met(run, made, beside, name, node)
    if foreign:
        return None
    if unsure:  # nothing may be said of where it is, but it is not known to be elsewhere
        return replace(FRESH, device="", sized=False)
    return of_fresh(found, sized=not scalar and (name in _SHAPING or any(made.sized for made in found)))


def of_item(tensor: Tensor, key: Value, node: p.Index) -> Origin:
    """The origin of `tensor[key]`: a row's item is a single number, which may be anywhere."""
    origin = tensor.origin
    part = isinstance(node.key, (p.Slice, p.Display))
    if part and origin.fresh and not origin.sized:
        return replace(origin, sized=bool(origin.device) and isinstance(node.key, p.Display))  # `x[:, None]`
    if part or isinstance(key, Tensor) or (origin.fresh and isinstance(key, Unknown)):
        return origin
    return of_row(tensor) if not origin.fresh or not isinstance(key, Sequence) else tensor.at(NOWHERE).origin


def of_row(tensor: Tensor) -> Origin:
    """The origin of a row of a tensor."""
    shape = measured(tensor).shape if tensor.origin.known or tensor.origin.fresh else None
    return tensor.origin if shape is not None and len(shape) > 1 else tensor.at(NOWHERE).origin


def _each(values: Iterable[Value]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, Sequence):
            yield from value.content.all()
        else:
            yield value


def _options(value: Value) -> Iterator[Value]:
    if isinstance(value, Either):
        for _, option in value.options:
            yield from _options(option)
    else:
        yield value


def _made(value: Value) -> Origin | None:
    if isinstance(value, Tensor) or (isinstance(value, ParameterValue) and not value.declared):
        return value.origin if value.origin.fresh else None
    if isinstance(value, Either):
        options = [option for _, option in value.options if not (isinstance(option, Const) and option.value is None)]
        known = [made for option in options if isinstance(option, Tensor) and (made := _made(option)) is not None]
        if len(known) < len(options):
            return None
        if len(known) == 1:
            return known[0]
        if known:  # made in one way or the other, on the CPU in both
            alone = [replace(made, builder=0, attributes=(), births=()) for made in known]
            return of_fresh(alone, sized=all(made.sized for made in alone))
    return None


def _is_tensor(value: Value) -> bool:
    if isinstance(value, Either):
        return any(_is_tensor(option) for _, option in value.options)
    if isinstance(value, Tensor):
        return not value.origin.fresh
    if isinstance(value, Unknown):
        given = value.flow.source not in (
            Source.UNKNOWN,
            Source.NOISE,
        )  # what is made of new numbers may stay on the CPU
        return bool(value.flow.forwards or value.flow.modules) or given
    return isinstance(value, (ParameterValue, Params))


def _is_beside_the_model(value: Value) -> bool:
    """Whether something is surely where a module's parameters or its inputs are: it is of them, or computed of them."""
    if isinstance(value, Tensor):
        return (
            value.flow.graph is True or bool(value.flow.forwards) or value.flow.source in (Source.LOADER, Source.NOISE)
        )
    return isinstance(value, (ParameterValue, Params))


def _is_type(value: Value) -> bool:
    """A dtype; a class of tensors says where they are as well."""
    return isinstance(value, Lib) and value.name.startswith("torch.") and devices.tensor_class(value) != GPU


# --- where they go ---


def assigned(run: Run, module: Module, name: str, value: Value, node: p.Node) -> Value:
    """The value of an attribute that a module's constructor assigns: a tensor knows from now on that it lies there."""
    if module not in run.building or module.cls is None or not module_classes.is_surely_module(run, module.cls):
        return value
    if isinstance(value, Either):
        return either((facts, assigned(run, module, name, option, node)) for facts, option in value.options)
    made = _made(value)
    if made is None or not made.sized or made.builder != module.id:
        return value
    trained = isinstance(value, ParameterValue)
    attribute = PlainAttribute(module=module.id, name=name, site=run.site(node), trained=trained)
    if isinstance(value, Tensor):
        return value.altered(origin=replace(value.origin, attributes=(attribute,), births=()))
    if isinstance(value, ParameterValue):
        run.heap.set(value.facts, Fact.ATTRIBUTE, attribute)
    return value


def read(run: Run, value: ParameterValue, node: p.Node) -> None:
    """A leaf that gathers gradients and is no parameter of the module that it is an attribute of: any use is one."""
    attribute = value.fact(Fact.ATTRIBUTE)
    if run.modules_called and attribute is not None and not value.fact(Fact.REGISTERED):
        _tell(run, attribute, node)


def left(run: Run, value: Value, node: p.Node, depth: int = 2) -> None:
    """A forward gives this out of hand: returns it, or puts it into what it was given.

    What it computed of the attribute and of other tensors that were put on no device stays: it has to be where they are.
    """
    made = _made(value)
    if made is not None:
        if all(made.builder == each.module for each in made.attributes):
            _used(run, made, node)
    elif depth and isinstance(value, Sequence):
        for item in value.content.all():
            left(run, item, node, depth - 1)


def _used(run: Run, made: Origin, node: p.Node) -> None:
    for attribute in made.attributes if made.sized else ():
        _tell(run, attribute, node)


def _tell(run: Run, attribute: PlainAttribute, node: p.Node) -> None:
    """Write that a `forward` computes with a plain attribute, unless the module sees to it itself."""
    if any(asked(symbol) or devices.asked_for(symbol) for symbol in run.assumed):
        return  # whoever decides about it may know that it never happens, or that the attribute is where it has to be
    if run.building or attribute.site in run.of(PlainTensors).reported:
        return
    run.of(PlainTensors).reported.add(attribute.site)
    module = run.objects.get(attribute.module)
    cls = module.cls if isinstance(module, Module) else None
    if cls is None or any(cls.find(name) is not None for name in _MOVERS):
        return
    if _assigned_elsewhere(run, cls, attribute.name):
        return
    run.emit(
        PlainTensorUsed,
        attribute.site,
        owner=attribute.module,
        owner_class=cls.name,
        name=attribute.name,
        used_at=run.site(node),
        trained=attribute.trained,
    )


# --- who else assigns the attribute ---


def _assigned_elsewhere(run: Run, cls: ClassValue, name: str) -> bool:
    """Whether something besides constructors assigns an attribute of this name: it may be made anew where it is needed."""
    units: list[Unit] = [run.main]
    units += [each.unit for each in cls.mro() if isinstance(each, ClassValue)]
    return any(name in unit.program.assigned for unit in units)
