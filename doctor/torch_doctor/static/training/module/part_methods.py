"""Methods that give a module parts, or lead to those that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from torch_doctor.static.dispatch import handles
from torch_doctor.static.flow import Flow
from torch_doctor.static.iteration import WALKED
from torch_doctor.static.language import containers, opaque_calls
from torch_doctor.static.tables import models
from torch_doctor.static.training.module import (
    library_models,
    module_parts,
    registering,
)
from torch_doctor.static.values import (
    ANY_NAME,
    NOTHING,
    NOWHERE,
    Call,
    Const,
    Content,
    Fact,
    Lib,
    Mapping,
    Module,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    UnknownName,
    Value,
    constant,
    held,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


OfModule: TypeAlias = "Callable[[Run, Module, str, Call], Value | None]"
METHODS: dict[str, OfModule] = {}
"""The methods that are modelled here, by name."""


@handles(METHODS, "add_module", "register_module")
def _add_module(run: Run, of: Module, _: str, call: Call) -> Value | None:
    key, module = call.argument(0, "name"), call.argument(1, "module")
    if module is None:
        return None
    name = str(key.value) if isinstance(key, Const) else UnknownName.among(of)
    registering.set_module_attribute(run, of, name, module, call.node)
    return NOTHING


@handles(METHODS, "register_parameter")
def _register_parameter(run: Run, of: Module, _: str, call: Call) -> Value | None:
    key, parameter = call.argument(0, "name"), call.argument(1, "param")
    if parameter is None:
        return None
    name = str(key.value) if isinstance(key, Const) else ANY_NAME
    registering.set_module_attribute(run, of, name, parameter, call.node)
    return NOTHING


@handles(METHODS, "get_submodule")
def _get_submodule(run: Run, of: Module, _: str, call: Call) -> Value:
    """A part by its path; of one that is not known, only what it belongs to."""
    given = call.argument(0, "target")
    path = None if given is None else constant(given)
    found: Value = of
    for name in path.split(".") if isinstance(path, str) and path else ():
        found = run.attribute(found, name, call.node)
    return found if isinstance(path, str) else Unknown(Flow(graph=None), held((of,)))


@handles(METHODS, "register_buffer")
def _register_buffer(run: Run, of: Module, _: str, call: Call) -> Value | None:
    registering.perhaps_early(run, of, call.node)
    key, buffer = call.argument(0, "name"), call.argument(1, "tensor")
    if buffer is None or not isinstance(key, Const):
        return None
    run.heap.set(of.fields, str(key.value), buffer.at(NOWHERE) if isinstance(buffer, Tensor) else buffer)
    return NOTHING


def set_by_name(run: Run, of: Module, _: str, call: Call) -> Value | None:
    """`super().__setattr__(name, value)`."""
    if len(call.args) < 2 or not isinstance(call.args[0], Const):
        return None
    registering.set_module_attribute(run, of, str(call.args[0].value), call.args[1], call.node)
    return NOTHING


@handles(METHODS, "append", "insert")
def _append(run: Run, of: Module, name: str, call: Call) -> Value:
    module = call.argument(0 if name == "append" else 1, "module")
    registering.add_to_list(run, of, () if module is None else (module,), call.node)
    return of


@handles(METHODS, "extend")
def _extend(run: Run, of: Module, _: str, call: Call) -> Value | None:
    modules = call.argument(0, "modules", "sequential")
    if modules is None:
        return None
    registering.add_to_list(run, of, containers.content_of(run, modules).all(), call.node)
    for observe in run.observers.registered:
        observe(run, of, "", (modules,), call.node)
    return of


@handles(METHODS, "update")
def _update(run: Run, of: Module, _: str, call: Call) -> Value | None:
    if not call.args or not isinstance(call.args[0], Mapping):
        registering.perhaps_parts(run, call.values)
        return None
    registering.add_to_list(run, of, call.args[0].values(), call.node)
    return NOTHING


@handles(METHODS, "apply")
def _apply(run: Run, of: Module, _: str, call: Call) -> Value:
    if call.args:
        _applied(run, of, call.args[0], call.node)
    return of


def _applied(run: Run, of: Module, function: Value, node: p.Node) -> None:
    """`module.apply(function)`: the function gets each part, where all are known and not too many."""
    inside = module_parts.parts_of(run, of)
    if inside.opaque or len(inside.parts) > WALKED:
        opaque_calls.call_back(run, function, node, (registering.part_of(run, of, ANY_NAME),))
        for observe in run.observers.changed:  # what it does to the parts is done to some that nobody knows
            observe(run, of, Call((), {}, node))
        return
    for part in inside.parts:
        run.call(function, Call((part,), {}, node))


@handles(METHODS, *models.HEAD_METHODS)
def _head(run: Run, of: Module, name: str, call: Call) -> Value | None:
    """The last layers of a library's classifier are asked for, or built anew."""
    head = library_models.head_of(run, of.layer) if of.cls is None else None
    if head is None:
        return None
    if not models.HEAD_METHODS[name]:
        return run.attribute(of, head[0], call.node)
    classes = call.argument(0, "num_classes") or Plain()
    layer = "torch.nn.Identity" if isinstance(classes, Const) and not classes.value else "torch.nn.Linear"
    new = run.call(Lib(layer), Call((Plain(), classes), {}, call.node))
    registering.set_module_attribute(run, of, head[0], new, call.node)
    return NOTHING


@handles(METHODS, "children", "modules", "named_children", "named_modules", "items", "values", "keys")
def _walked(run: Run, of: Module, name: str, call: Call) -> Value:
    """`children()`, `modules()` and their named forms."""
    inside = module_parts.parts_of(run, of)
    known = library_models.children(run, of) if name in ("children", "named_children") else ()
    if known:
        found = [run.attribute(of, each, call.node) for each in known]
        pairs = zip(known, found, strict=True)
        items = [Sequence("tuple", Content((Const(key), each))) for key, each in pairs] if name[0] == "n" else found
        return Sequence("list", Content(tuple(items)))
    if name in ("modules", "named_modules"):
        found = list(inside.parts)
    else:
        content = module_parts.listed(of)
        found = list(content.all()) if content else [value for value in of.fields.values() if isinstance(value, Module)]
    if name == "keys":
        return Plain()
    built = (
        library_models.library_model(run, of.layer)
        if of.cls is None and name in ("children", "named_children")
        else None
    )
    opaque = of.cls is None and (not of.layer or built is not None)
    cares = built.sensitive if built is not None and not built.part else None
    exact = len(found) <= WALKED and not opaque and (name not in ("modules", "named_modules") or not inside.opaque)
    named = name.startswith("named") or name == "items"
    if exact:
        paths = module_parts.paths(of) if named else {}
        items = [Sequence("tuple", Content((_called(item, paths), item))) for item in found] if named else found
        return Sequence("list", Content(tuple(items)))
    one: Value = (
        summary(found)
        if found and not opaque
        else registering.part_of(run, of, ANY_NAME, cares=cares)
        if opaque
        else Unknown()
    )
    if isinstance(one, Unknown) and found:
        one = registering.part_of(run, of, ANY_NAME)
        one.facts[Fact.STANDS_FOR] = tuple(each for each in found if isinstance(each, Module))
    return Sequence("list", Content((), Sequence("tuple", Content((Plain(), one))) if named else one))


def _called(item: Value, paths: dict[int, str]) -> Value:
    """The name of a part."""
    return Const(paths[item.id]) if isinstance(item, Module) and item.id in paths else Plain()


@handles(METHODS, "update_parameters")
def _average(run: Run, of: Module, _: str, call: Call) -> Value | None:
    """An averaged copy takes up the weights of the model, and nothing else of it."""
    if len(call.values) != 1 or not isinstance(call.values[0], Module) or not of.fact(Fact.AVERAGED):
        return None
    for observe in run.observers.changed:
        observe(run, of, call)
    return NOTHING
