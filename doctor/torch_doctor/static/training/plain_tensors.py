"""Tensors that a module keeps as plain attributes, and what becomes of them in `forward`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.measuring import measured
from torch_doctor.static.training import cross_device, devices, module_classes
from torch_doctor.static.values import (
    GPU,
    Call,
    ClassValue,
    Const,
    Either,
    Fact,
    Home,
    Lib,
    Made,
    Module,
    ParameterValue,
    Params,
    Sequence,
    Tensor,
    Unknown,
    Value,
    either,
)
from torch_doctor.trace import PlainTensorUsed, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Site


class PlainTensors(Knowledge):
    """Plain tensors of modules that a forward uses."""

    def __init__(self) -> None:
        self.reported: set[Site] = set()  # attributes of which that was said


_OF_DATA = frozenset({"tensor", "as_tensor", "asarray", "scalar_tensor"})
"""Functions whose result has the dimensions of what it is made of; the others are given a size, or have one."""
_SHARING = frozenset({"as_tensor", "asarray", "Variable"})
"""Those that give back a tensor that they are given, or one beside it."""
_ALWAYS_SIZED = frozenset(
    {"arange", "range", "linspace", "logspace", "eye", "from_numpy", "tril_indices", "triu_indices"}
)
_TO_OTHERS = frozenset({"to", "cuda", "cpu", "xpu", "mps", "type_as", "pin_memory", "share_memory_", "type"})
"""Methods after which a tensor is somewhere else, or may be."""
_LIKE = "expand_as view_as reshape_as sum_to_size copy_ set_ index_put_"
_SIZES = (
    "pad view reshape expand repeat tile narrow split interpolate upsample roll unfold broadcast_to zeros ones full"
)
_FIRST_ALONE = frozenset(f"{_LIKE} {_SIZES}".split())
"""Functions whose other tensors may be on another device, or are read as numbers: sizes and amounts."""
_SHAPING = frozenset({"view", "reshape", "unsqueeze", "expand", "repeat", "unflatten", "broadcast_to", "tile"})
_MOVERS = ("_apply", "to", "cuda", "__setattr__")
"""Methods of a module that decide what moves with it, and what is registered."""


# --- where tensors come from ---


def of_factory(run: Run, name: str, call: Call) -> Made | None:
    """What is known of a tensor that a function of torch makes of numbers alone; None where it is put on some device."""
    short = name.rpartition(".")[2]
    maker = run.building[-1].id if run.building else 0
    given = call.values
    brought = short in _SHARING or short == "from_numpy" or any(value.flow.cuts for value in given)
    births = (
        (run.site(call.node),) if run.modules_called and not brought else ()
    )  # data from elsewhere is no work of forward's
    if {"device", "out", "**"} & set(call.keywords) or short.endswith("_like"):
        return None
    options = [option for value in given for option in _options(value)]
    if any(isinstance(option, (Tensor, Unknown) if short in _SHARING else Tensor) for option in options):
        return None
    first = call.argument(0, "size", "data")
    if short == "randint":  # its size comes after the bounds
        first = next((value for value in given if isinstance(value, Sequence)), call.keywords.get("size", first))
    if short in _ALWAYS_SIZED:
        return Made(maker, sized=True, births=births)
    if first is None:
        return None  # an empty tensor: the place of one that comes later
    empty = isinstance(first, Sequence) and not first.content.all()
    sizes = first.content.items if isinstance(first, Sequence) else (first,)
    zero = short not in _OF_DATA and any(isinstance(size, Const) and size.value in ((), 0) for size in sizes)
    if zero or (empty and short in _OF_DATA | {"Tensor", "FloatTensor"}):
        return None
    if short in _OF_DATA:
        return Made(maker, sized=isinstance(first, Sequence), births=births)
    return Made(maker, sized=not empty, births=births)


def combined(run: Run, name: str, values: Iterable[Value], node: p.Node, *, scalar: bool = False) -> Made | None:
    """What is known of a tensor that is computed of these values.

    Where a module's plain attribute is computed with a tensor from elsewhere, that is written: they have to be on one
    device.
    """
    values = tuple(values)
    if name == "cpu":
        return Made(0, sized=True)
    if name.rpartition(".")[2] in _FIRST_ALONE:
        values = values[:1]
    found: list[Made] = []
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
    if unsure:
        return Made(0, sized=False)  # nothing may be said of where it is, but it is not known to be elsewhere
    maker = found[0].maker if all(made.maker == found[0].maker for made in found) else 0
    homes = tuple(dict.fromkeys(home for made in found for home in made.homes))
    births = tuple(dict.fromkeys(site for made in found for site in made.births))
    sized = not scalar and (name in _SHAPING or any(made.sized for made in found))
    return Made(maker, sized=sized, homes=homes, births=births)


def of_item(tensor: Tensor, key: Value, node: p.Index) -> Made | None:
    """What is known of `tensor[key]`: a row's item is a single number, which may be anywhere."""
    made = tensor.made
    if made is None or (isinstance(node.key, (p.Slice, p.Display)) and made.sized):
        return made
    if isinstance(node.key, (p.Slice, p.Display)):
        return Made(
            made.maker, sized=isinstance(node.key, p.Display), homes=made.homes, births=made.births
        )  # `x[:, None]`
    if isinstance(key, (Tensor, Unknown)):
        return made
    shape = measured(tensor).shape
    return made if shape is not None and len(shape) > 1 and not isinstance(key, Sequence) else None


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


def _made(value: Value) -> Made | None:
    if isinstance(value, Tensor):
        return value.made
    if isinstance(value, ParameterValue):
        return None if value.declared else value.made
    if isinstance(value, Either):
        options = [option for _, option in value.options if not (isinstance(option, Const) and option.value is None)]
        known = [option.made if isinstance(option, Tensor) else None for option in options]
        if len(known) == 1:
            return known[0]
        if known and None not in known:  # made in one way or the other, on the CPU in both
            return Made(0, sized=all(made.sized for made in known if made is not None))
    return None


def _is_tensor(value: Value) -> bool:
    if isinstance(value, Either):
        return any(_is_tensor(option) for _, option in value.options)
    if isinstance(value, Tensor):
        return value.made is None
    if isinstance(value, Unknown):
        return bool(value.flow.forwards or value.flow.modules) or value.flow.source is not Source.UNKNOWN
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
    if module not in run.building or module.cls is None or not module_classes.is_surely_module(module.cls):
        return value
    if isinstance(value, Either):
        return either((facts, assigned(run, module, name, option, node)) for facts, option in value.options)
    if isinstance(value, Tensor) and value.made is not None and value.made.sized and value.made.maker == module.id:
        home = Home(module.cls, module.id, name, run.site(node))
        return value.with_made(Made(module.id, sized=True, homes=(home,)))
    made = value.made if isinstance(value, ParameterValue) and not value.declared else None
    if isinstance(value, ParameterValue) and made is not None and made.sized and made.maker == module.id:
        run.heap.set(value.facts, Fact.HOME, Home(module.cls, module.id, name, run.site(node), trained=True))
    return value


def read(run: Run, value: ParameterValue, node: p.Node) -> None:
    """A leaf that gathers gradients and is no parameter of the module that it is an attribute of: any use is one."""
    home = value.fact(Fact.HOME)
    if run.modules_called and home is not None and not value.fact(Fact.REGISTERED):
        _tell(run, home, node)


def left(run: Run, value: Value, node: p.Node, depth: int = 2) -> None:
    """A forward gives this out of hand: returns it, or puts it into what it was given.

    What it computed of the attribute and of other tensors that were put on no device stays: it has to be where they are.
    """
    made = _made(value)
    if made is not None:
        if all(made.maker == home.module for home in made.homes):
            _used(run, made, node)
    elif depth and isinstance(value, Sequence):
        for item in value.content.all():
            left(run, item, node, depth - 1)


def _used(run: Run, made: Made, node: p.Node) -> None:
    for home in made.homes if made.sized else ():
        _tell(run, home, node)


def _tell(run: Run, home: Home, node: p.Node) -> None:
    """Write that a `forward` computes with a plain attribute, unless the module sees to it itself."""
    if run.building or home.site in run.of(PlainTensors).reported:
        return
    run.of(PlainTensors).reported.add(home.site)
    if any(home.cls.find(name) is not None for name in _MOVERS) or _assigned_elsewhere(run, home):
        return
    run.emit(
        PlainTensorUsed,
        home.site,
        owner=home.module,
        owner_class=home.cls.name,
        name=home.name,
        used_at=run.site(node),
        trained=home.trained,
    )


# --- who else assigns the attribute ---


def _assigned_elsewhere(run: Run, home: Home) -> bool:
    """Whether something besides constructors assigns an attribute of this name: it may be made anew where it is needed."""
    units: list[Unit] = [run.main]
    units += [cls.unit for cls in home.cls.mro() if isinstance(cls, ClassValue)]
    return any(home.name in unit.program.assigned for unit in units)
