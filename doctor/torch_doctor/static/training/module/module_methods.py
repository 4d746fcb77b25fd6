"""Methods that torch gives every module."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from torch_doctor.static.dispatch import handles
from torch_doctor.static.flow import blend
from torch_doctor.static.language import containers, opaque_calls
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import layers
from torch_doctor.static.tables.methods import CONTAINER_METHODS, MODULE_METHODS, MOVES
from torch_doctor.static.training import places
from torch_doctor.static.training.checkpoint import loading, snapshots
from torch_doctor.static.training.device import devices
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.frameworks import framework_calls
from torch_doctor.static.training.loss import loss_building
from torch_doctor.static.training.module import (
    chaining,
    forwards,
    hooks,
    layer_outputs,
    module_parts,
    part_methods,
    registering,
)
from torch_doctor.static.training.update import adapters, parameters
from torch_doctor.static.values import (
    NOTHING,
    Call,
    Const,
    Fact,
    Method,
    Module,
    Params,
    Sequence,
    Spread,
    Unknown,
    Value,
)
from torch_doctor.trace import Moved, Wrapped, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run


OfModule: TypeAlias = "Callable[[Run, Module, str, Call], Value | None]"
_METHODS: dict[str, OfModule] = {**part_methods.METHODS, **adapters.METHODS, **hooks.METHODS}
_OF_BASE: dict[str, OfModule] = {"__setattr__": part_methods.set_by_name}


def module_method(run: Run, of: Module, name: str, call: Call) -> Value:
    """Call a method that torch gives a module."""
    if name.startswith("super."):
        return of_base(run, of, name.removeprefix("super."), call)
    other = name in CONTAINER_METHODS and not _is_container(of)  # a model may have an `update` of its own
    method = None if other else _METHODS.get(name)
    result = method(run, of, name, call) if method is not None else None
    if result is not None:
        return result
    if (name in MODULE_METHODS and not other) or name.startswith("register_"):
        return Unknown()
    loss_building.note_use(run, of, name, call.node)
    return framework_calls.owned_method(run, of, name, call) or opaque_calls.opaque(run, Method(of, name), call)


def _is_container(of: Module) -> bool:
    """Whether it is one of torch's containers."""
    return module_parts.listed(of) is not None or of.layer in layers.CONTAINERS | layers.PARAMETER_CONTAINERS


def of_base(run: Run, of: Module, name: str, call: Call) -> Value:
    """`super().method(...)` where the next class is a library's."""
    method = _OF_BASE.get(name)
    result = method(run, of, name, call) if method is not None else None
    return module_method(run, of, name, call) if result is None else result


@handles(_METHODS, "eval", "train")
def _mode(run: Run, of: Module, name: str, call: Call) -> Value:
    mode = False if name == "eval" else call.flag("mode", position=0, default=True)
    modes.set_mode(run, of, mode, call.node, call.receiver)
    return of


@handles(_OF_BASE, "eval", "train")
def _base_mode(run: Run, of: Module, name: str, call: Call) -> Value | None:
    return _mode(run, of, name, call) if of.cls is not None else None


@handles(_METHODS, "parameters", "named_parameters")
def _parameters(run: Run, of: Module, name: str, _: Call) -> Value:
    inside = module_parts.parts_of(run, of)
    whole = len(inside.parts) < module_parts.MOST_PARTS
    return Params(inside.owners, whole=whole, named=of.id if name.startswith("named") else 0)


@handles(_METHODS, "get_parameter")
def _parameter(run: Run, of: Module, _: str, __: Call) -> Value:
    inside = module_parts.parts_of(run, of)
    whole = len(inside.parts) < module_parts.MOST_PARTS
    return Params(inside.owners, whole=whole, single=True)


@handles(_METHODS, "zero_grad")
def _zero_grad(run: Run, of: Module, _: str, call: Call) -> Value:
    inside = module_parts.parts_of(run, of)
    whole = not inside.opaque  # what is out of sight may be any of those that train
    run.emit(ZeroGrad, call.node, target=of.id, name=call.receiver, modules=inside.owners, whole=whole)
    return NOTHING


@handles(_METHODS, "requires_grad_")
def _freeze(run: Run, of: Module, _: str, call: Call) -> Value:
    wanted = call.argument(0, "requires_grad") or Const(value=True)
    parameters.set_trainable(run, module_parts.parts_of(run, of).owners, wanted, call.node, whole=True)
    return of


@handles(_METHODS, *MOVES, "to_empty")
def _move(run: Run, of: Module, name: str, call: Call) -> Value:
    device, dtype = devices.moved_to(name, call)
    gpu = devices.gpu_moved_to(name, call)
    run.emit(Moved, call.node, module=of.id, name=call.receiver, device=device, dtype=dtype, gpu=gpu)
    places.module_moved(run, of, name, call)
    return of


@handles(_METHODS, "share_memory")
def _same(_: Run, of: Module, __: str, ___: Call) -> Value:
    return of


@handles(_METHODS, "state_dict")
def _state(run: Run, of: Module, _: str, call: Call) -> Value:
    return snapshots.state_of(run, of, call.node, call.receiver)


@handles(_METHODS, "load_state_dict")
def _load(run: Run, of: Module, _: str, call: Call) -> Value:
    return loading.loaded(run, of, call)


@handles(_METHODS, "forward")
def _forward(run: Run, of: Module, _: str, call: Call) -> Value:
    return forwards.call_module(run, of, call.renamed(call.receiver))


@handles(_METHODS, "no_sync", "summon_full_params")
def _context(run: Run, of: Module, name: str, _: Call) -> Value:
    for event in run.trace.of(Wrapped):
        if event.module == of.id and name == "no_sync":
            run.trace.replace(event, awaited=frozenset())  # it may hold in each step, and then nothing is exchanged
    return Unknown()


@handles(_OF_BASE, "__init__")
def _initialise(run: Run, of: Module, _: str, call: Call) -> Value:
    run.heap.set(of.facts, Fact.INITIALISED, value=True)
    if of.layer in ("torch.nn.Sequential", "torch.nn.ModuleList"):
        for observe in run.observers.registered:
            observe(run, of, "", call.args, call.node)
        items = tuple(item for value in call.args for item in _items(run, value))
        registering.add_to_list(run, of, items, call.node)
    return NOTHING


def _items(run: Run, value: Value) -> tuple[Value, ...]:
    """The modules that one argument of a list's constructor stands for."""
    if isinstance(value, Spread):
        return value.content.all()
    return containers.content_of(run, value).all() if isinstance(value, Sequence) else (value,)


@handles(_OF_BASE, "forward", "__call__")
def _base_forward(run: Run, of: Module, _: str, call: Call) -> Value:
    content = module_parts.listed(of) if of.layer == "torch.nn.Sequential" else None
    if content is not None:
        return chaining.chained(run, of, content, call)
    if of.table is not None:
        return layer_outputs.layer_output(run, of, of.table, call)
    return Unknown(replace(blend(value.flow for value in call.values), graph=None))


@library_family(lambda name: name.endswith(".__init__"))
def initialised(run: Run, _: str, call: Call) -> Value | None:
    """`nn.Module.__init__(self)`: a base is initialised by name."""
    if not call.args or not isinstance(call.args[0], Module):
        return None
    return of_base(run, call.args[0], "__init__", call.with_args(call.args[1:]))


@library_family(lambda name: name.startswith("torch.nn.Module.") and not name.endswith(".__init__"))
def by_name(run: Run, name: str, call: Call) -> Value | None:
    """`nn.Module.train(self)`: a method of the base is called by name."""
    if not call.args or not isinstance(call.args[0], Module):
        return None
    method = name.rpartition(".")[2]
    given = call.with_args(call.args[1:]).renamed(f"{run.text_of_argument(call.node, 0)}.{method}")
    return of_base(run, call.args[0], method, given)
