"""Methods that torch gives every module."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.flow import blend
from torch_doctor.static.iteration import WALKED
from torch_doctor.static.language import containers, outside
from torch_doctor.static.tables.methods import MODULE_METHODS, MOVES
from torch_doctor.static.training import (
    devices,
    forwards,
    framework_calls,
    loading,
    loss_building,
    modes,
    module_parts,
    outdated,
    places,
    sharing,
    snapshots,
)
from torch_doctor.static.values import (
    ANY_NAME,
    NOTHING,
    Args,
    Const,
    Content,
    Fact,
    Keywords,
    Mapping,
    Method,
    Module,
    Params,
    Plain,
    Sequence,
    Spread,
    Tensor,
    Unknown,
    UnknownName,
    Value,
    summary,
)
from torch_doctor.trace import (
    Moved,
    ZeroGrad,
)

if TYPE_CHECKING:
    from torch_doctor.static.executor import Executor


def module_method(
    run: Executor, of: Module, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
) -> Value:  # noqa: C901, PLR0911, PLR0912 - one branch per method
    """Call a method that torch gives a module."""
    if name.startswith("super."):
        return of_base(run, of, name.removeprefix("super."), args, keywords, node, receiver)
    if name in ("eval", "train"):
        flag = args[0] if args else keywords.get("mode", Const(value=True))
        mode = False if name == "eval" else bool(flag.value) if isinstance(flag, Const) else None
        modes.set_mode(run, of, mode, node, receiver)
        return of
    if name in ("parameters", "named_parameters"):
        return Params(module_parts.parts_of(run, of).owners, whole=True, named=name.startswith("named"))
    if name == "zero_grad":
        run.emit(ZeroGrad, node, target=of.id, name=receiver, modules=module_parts.parts_of(run, of).owners, whole=True)
        return NOTHING
    if name == "requires_grad_":
        frozen = isinstance(args[0], Const) and not args[0].value if args else False
        for number in module_parts.parts_of(run, of).owners:
            thing = run.objects.get(number)
            if thing is not None:
                run.heap.set(thing.facts, Fact.FROZEN, frozen)
        return of
    if name in MOVES or name in ("share_memory", "compile", "to_empty", "set_swish"):
        device, dtype = devices.moved_to(name, args, keywords)
        if name not in ("share_memory", "compile", "set_swish"):
            run.emit(Moved, node, module=of.id, name=receiver, device=device, dtype=dtype)
            places.module_moved(run, of, name, args, keywords, node)
        return of
    if name == "state_dict":
        return snapshots.state_of(run, of, node, receiver)
    if name == "load_state_dict":
        return loading.loaded(run, of, args, keywords, node, receiver)
    if name in ("add_module", "register_module") and len(args) > 1:
        key = args[0]
        module_parts.set_module_attribute(
            run, of, str(key.value) if isinstance(key, Const) else UnknownName.among(of), args[1], node
        )
        return NOTHING
    if name == "register_parameter" and len(args) > 1:
        module_parts.set_module_attribute(
            run, of, str(args[0].value) if isinstance(args[0], Const) else ANY_NAME, args[1], node
        )
        return NOTHING
    if name == "register_buffer" and len(args) > 1 and isinstance(args[0], Const):
        buffer = args[1].at(None) if isinstance(args[1], Tensor) else args[1]
        run.heap.set(of.fields, str(args[0].value), buffer)
        return NOTHING
    if name in ("append", "insert"):
        module_parts.add_to_list(run, of, args[-1:], node)
        return of
    if name == "extend" and args:
        content = containers.content_of(run, args[0])
        module_parts.add_to_list(run, of, content.all(), node)
        sharing.put_together(run, args, node)
        return of
    if name == "update" and args and isinstance(args[0], Mapping):
        module_parts.add_to_list(run, of, args[0].values(), node)
        return NOTHING
    if name in ("children", "modules", "named_children", "named_modules", "items", "values", "keys"):
        return _walked(run, of, name)
    if name == "forward":
        return forwards.call_module(run, of, args, keywords, node, receiver)
    if name == "apply":
        if args:
            _applied(run, of, args[0], node)
        return of
    if name in ("no_sync", "summon_full_params"):
        return Unknown()
    if name in MODULE_METHODS or name.startswith("register_"):
        outdated.of_module(run, name, node.func if isinstance(node, p.Call) else node)
        return Unknown()
    loss_building.note_use(run, of, name, node)
    owned = framework_calls.owned_method(run, of, name, args, keywords, node, receiver)
    if owned is not None:
        return owned
    return outside.opaque(run, Method(of, name), args, keywords, node, f"{receiver}.{name}")


def of_base(run: Executor, of: Module, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str) -> Value:
    """`super().method(...)` where the next class is a library's."""
    if name == "__init__":
        run.heap.set(of.facts, Fact.INITIALISED, value=True)
        if of.layer in ("torch.nn.Sequential", "torch.nn.ModuleList"):
            sharing.put_together(run, args, node)
            module_parts.add_to_list(
                run,
                of,
                tuple(
                    i
                    for a in args
                    for i in (
                        a.content.all()
                        if isinstance(a, Spread)
                        else containers.content_of(run, a).all()
                        if isinstance(a, Sequence)
                        else (a,)
                    )
                ),
                node,
            )
        return NOTHING
    if name in {"forward", "__call__"}:
        if of.layer == "torch.nn.Sequential" and module_parts.listed(of) is not None:
            return forwards.chained(run, of, module_parts.listed(of) or Content(), args, keywords, node)
        if of.table is not None:
            return forwards.layer_output(run, of, of.table, args, keywords, node)
        flow = blend(value.flow for value in (*args, *keywords.values()))
        return Unknown(replace(flow, graph=None))
    if name in ("train", "eval") and of.cls is not None:
        flag = args[0] if args else keywords.get("mode", Const(value=True))
        mode = False if name == "eval" else bool(flag.value) if isinstance(flag, Const) else None
        modes.set_mode(run, of, mode, node, receiver)
        return of
    if name == "__setattr__" and len(args) > 1 and isinstance(args[0], Const):
        module_parts.set_module_attribute(run, of, str(args[0].value), args[1], node)
        return NOTHING
    return module_method(run, of, name, args, keywords, node, receiver)


def _applied(run: Executor, of: Module, function: Value, node: p.Node) -> None:
    """`module.apply(function)`: the function gets each part, where all are known and not too many."""
    inside = module_parts.parts_of(run, of)
    if inside.opaque or len(inside.parts) > WALKED:
        outside.call_back(run, function, node, (module_parts.part_of(run, of, ANY_NAME),))
        return
    for part in inside.parts:
        run.call(function, (part,), {}, node)


def _walked(run: Executor, of: Module, name: str) -> Value:
    """`children()`, `modules()` and their named forms."""
    inside = module_parts.parts_of(run, of)
    if name in ("modules", "named_modules"):
        found: list[Value] = list(inside.parts)
    else:
        content = module_parts.listed(of)
        found = list(content.all()) if content else [value for value in of.fields.values() if isinstance(value, Module)]
    if name == "keys":
        return Plain()
    opaque = of.cls is None and not of.layer
    exact = len(found) <= WALKED and not opaque and (name not in ("modules", "named_modules") or not inside.opaque)
    one: Value = (
        summary(found) if found and not opaque else module_parts.part_of(run, of, ANY_NAME) if opaque else Unknown()
    )
    if isinstance(one, Unknown) and found:
        one = module_parts.part_of(run, of, ANY_NAME)
    if name.startswith("named") or name == "items":
        if exact:
            return Sequence("list", Content(tuple(Sequence("tuple", Content((Plain(), item))) for item in found)))
        return Sequence("list", Content((), Sequence("tuple", Content((Plain(), one)))))
    return Sequence("list", Content(tuple(found)) if exact else Content((), one))
