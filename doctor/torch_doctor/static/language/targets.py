"""What assigning does to each sort of target: names, attributes, items, several at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import file_globals
from torch_doctor.static import program as p
from torch_doctor.static.language import invocation, item_targets, kept, settings, unpacking
from torch_doctor.static.measuring import measured
from torch_doctor.static.training import channel_order, cuts, filling, pixels, places, plain_tensors, splitting, sums
from torch_doctor.static.training.data import loader_roles
from torch_doctor.static.training.device import exchanging
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.graph import emptying, keeping
from torch_doctor.static.training.module import module_parts, registering
from torch_doctor.static.training.update import given_gradients, parameters, unknown_parameters
from torch_doctor.static.values import (
    CPU,
    Call,
    ClassValue,
    Const,
    Distribution,
    Either,
    Fact,
    Fields,
    FunctionValue,
    Grads,
    Instance,
    Loader,
    Mapping,
    Module,
    Namespace,
    Object,
    Optimizer,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Settings,
    Tensor,
    Tool,
    Unknown,
    UnknownName,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from torch_doctor.static.run import Run


def bind_name(run: Run, name: str, value: Value) -> None:
    """Assign a variable of the current frame."""
    fields = _fields_of(run, name)
    emptying.replaced(run, fields, name, value)
    run.heap.set(fields, name, value)


def _fields_of(run: Run, name: str) -> Fields:
    """The fields of the current frame in which a variable lies."""
    frame = run.position.frame
    outer = frame.outer.get(name)
    if outer is True:
        file_globals.changes(run, frame.globals, name)
        return frame.globals.fields
    if outer is False and frame.closure is not None:
        holder = frame.closure.holder(name)
        return frame.fields if holder is None else holder.fields
    return frame.fields


def is_emptied(run: Run, target: p.Expr, carries: frozenset[int]) -> bool:
    """Whether the loop that put these into a target also takes them out."""
    if not carries:
        return False
    if isinstance(target, p.Name):
        return emptying.is_emptied(run, _fields_of(run, target.id), target.id, carries)
    if not isinstance(target, (p.Attribute, p.Index)):
        return False
    holder = run.resolve(run.evaluate(target.value))
    item = run.evaluate(target.key) if isinstance(target, p.Index) else Const(target.name)
    key = item.value if isinstance(item, Const) else None
    if isinstance(target, p.Index):
        key = "rest" if key is None else ("key", key)
    options = [option for _, option in holder.options] if isinstance(holder, Either) else [holder]
    return any(isinstance(each, Object) and emptying.is_emptied(run, each.fields, key, carries) for each in options)


def bind(run: Run, target: p.Expr, value: Value, node: p.Node) -> None:
    """Assign to a target: a name, attribute, item, or several at once."""
    bind_to = TARGETS.get(target.__class__)
    if bind_to is not None:
        bind_to(run, target, sums.started(run, value, node), node)


def _bind_name(run: Run, target: p.Name, value: Value, _: p.Node) -> None:
    for observe in run.observers.bound:
        observe(run, target, value)
    bind_name(run, target.id, value)


def _bind_attribute(run: Run, target: p.Attribute, value: Value, node: p.Node) -> None:
    holder = run.resolve(run.evaluate(target.value))
    for observe in run.observers.attribute_set:
        observe(run, holder, target, value, node)
    set_attribute(run, holder, target.name, value, node, target)
    keeping.stored(run, value, node)


def _bind_item(run: Run, target: p.Index, value: Value, node: p.Node) -> None:
    holder = run.resolve(run.evaluate(target.value))
    key = run.evaluate(target.key)
    for observe in run.observers.item_set:
        observe(run, holder, key, value, node)
    item_targets.set_item(run, holder, key, value, node, target)
    channel_order.rearranged(run, holder, value)
    if pixels.scaled(holder, value) and isinstance(target.value, (p.Name, p.Attribute)):
        bind(run, target.value, pixels.rescaled(holder), node)
    given_gradients.changed(run, holder, node, filling.part_filled(run, holder, key, node, value), value)
    if isinstance(holder, Tensor) and isinstance(target.value, p.Name):
        bind_name(run, target.value.id, item_targets.written_into(run, holder, value))
    for tell in run.observers.changed:
        tell(run, holder, Call((key, value), {}, node, f"{run.text(target.value)}.__setitem__"))
    if not isinstance(holder, (Sequence, Mapping)):
        keeping.stored(run, value, node)
    if isinstance(holder, Plain) and (value.flow.rows or holder.flow.rows):
        changed = splitting.stored(run, holder, value, target)
        if changed is not None and isinstance(changed[0], (p.Name, p.Attribute)):
            bind(run, *changed, node)


def _bind_several(run: Run, target: p.Display, value: Value, node: p.Node) -> None:
    for part, given in zip(target.items, unpacking.unpack(run, value, target.items, node), strict=False):
        item = loader_roles.unpacked(run, given, part)
        bind(run, part.value if isinstance(part, p.Star) else part, item, node)


def _bind_star(run: Run, target: p.Star, value: Value, node: p.Node) -> None:
    bind(run, target.value, value, node)


TARGETS: Final[dict[type[p.Expr], Callable[[Run, Any, Value, p.Node], None]]] = {
    p.Name: _bind_name,
    p.Attribute: _bind_attribute,
    p.Index: _bind_item,
    p.Display: _bind_several,
    p.Star: _bind_star,
}
"""What assigning to a target of each type does."""


GRADIENTS = ("grad", "_grad")
"""The gradient of a parameter, and the name under which torch sets it unchecked."""


def delete_attribute(run: Run, value: Value, name: str) -> None:
    """`del value.name`."""
    if isinstance(value, (Instance, Module)):
        run.heap.drop(value.fields, name)


def set_attribute(run: Run, value: Value, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
    """Assign an attribute; where the class of an object has a property with a setter of that name, the setter runs."""
    found = value.cls.find(name) if isinstance(value, (Instance, Module)) and value.cls is not None else None
    if found is not None and isinstance(found[0], FunctionValue) and found[0].setter is not None:
        invocation.enter(run, found[0].setter, Call((value, new), {}, node))
        return
    HOLDERS.get(value.__class__, _set_on_value)(run, value, name, new, node, target)


def _set_on_value(run: Run, value: Value, name: str, new: Value, _: p.Node, target: p.Attribute) -> None:
    unknown_parameters.set_on(run, value, name, new, target)
    registering.perhaps_replaced(run, value, new, "" if isinstance(name, UnknownName) else name)
    if name == "requires_grad":
        if isinstance(value, (Tensor, Unknown)) and isinstance(new, Const) and new.value:
            make_leaf(run, value, target.value)
        return
    if name == "data":
        given_gradients.changed(run, value, target)
        _now_where(run, value.holds if isinstance(value, Unknown) else frozenset(), new)
        exchanging.perhaps_any(run)
    places.disturbed(run, value)
    kept.given(run, value, (new,))


def _set_on_settings(run: Run, value: Plain, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
    if not settings.keep(run, value, name, new, node):
        _set_on_value(run, value, name, new, node, target)


def _set_on_any(run: Run, value: Either, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
    for _, option in value.options:
        set_attribute(run, option, name, new, node, target)


def _set_on_module(run: Run, value: Module, name: str, new: Value, node: p.Node, _: p.Attribute) -> None:
    if name == "training":
        modes.put(run, value, new.value if isinstance(new, Const) and isinstance(new.value, bool) else None)
        return
    parameters.assigned(run, value, name, new, node)
    emptying.replaced(run, value.fields, name, new)
    new = plain_tensors.assigned(run, value, name, new, node)
    registering.set_module_attribute(run, value, name, new, node)
    if value.table is not None and value.table.parameters:
        places.lost_sight(run, (value.id,), ())  # the new weight may be elsewhere


def _set_on_instance(run: Run, value: Instance, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
    if value.cls.find("__getattr__") is not None:
        value.fields.setdefault(name, Unknown())  # where another path does not assign it, the class has an answer
    _set_on_object(run, value, name, new, node, target)


def _set_on_object(run: Run, value: Object, name: str, new: Value, _: p.Node, __: p.Attribute) -> None:
    emptying.replaced(run, value.fields, name, new)
    run.heap.set(value.fields, name, new)
    if isinstance(value, Tool) and isinstance(new, Module):
        places.lost_sight(run, module_parts.with_parts(run, frozenset((new.id,))), ())


def _set_on_namespace(run: Run, value: Namespace, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
    file_globals.changes(run, value, name)
    _set_on_object(run, value, name, new, node, target)


def _now_where(run: Run, modules: frozenset[int], new: Value) -> None:
    """Parameters of these modules are where the tensor is that they were given as their `data`."""
    if places.of(new).device != CPU:
        places.lost_sight(run, modules, ())


def make_leaf(run: Run, value: Value, where: p.Expr) -> Value:
    """`x.requires_grad = True`: gradients flow to this tensor from now on."""
    if value.flow.graph is True:
        return value
    leaf = cuts.leaf(run, value.flow, value, where, made=False, meta=value.meta if isinstance(value, Tensor) else None)
    bind(run, where, leaf, where)
    return leaf


def _set_on_parameters(
    run: Run, value: Params | ParameterValue, name: str, new: Value, node: p.Node, target: p.Attribute
) -> None:
    modules = value.modules if isinstance(value, Params) else frozenset((value.id,))
    if name == "requires_grad":
        whole = isinstance(value, ParameterValue) or (value.whole and not value.among)
        parameters.set_trainable(run, modules, new, node, whole=whole)
    elif name in GRADIENTS:
        some = isinstance(value, Params) and (value.among or not value.whole)
        given_gradients.given(run, Grads(modules, whole=not some), new, node)
    elif name == "data":
        for observe in run.observers.changed:
            observe(run, value, Call((new,), {}, node, f"{run.text(target)}.__set__"))
        if isinstance(value, ParameterValue):
            run.heap.set(value.facts, Fact.MADE, measured(new))
        _now_where(run, modules, new)
        parameters.update_by_hand(run, modules, new, node)


def _set_on_gradients(run: Run, value: Grads, name: str, new: Value, node: p.Node, _: p.Attribute) -> None:
    if name == "data":
        given_gradients.given(run, value, new, node)


HOLDERS: Final[dict[type[Value], Callable[[Run, Any, str, Value, p.Node, p.Attribute], None]]] = {
    Either: _set_on_any,
    Grads: _set_on_gradients,
    Module: _set_on_module,
    Params: _set_on_parameters,
    ParameterValue: _set_on_parameters,
    Instance: _set_on_instance,
    Tool: _set_on_object,
    Distribution: _set_on_object,
    Loader: _set_on_object,
    ClassValue: _set_on_object,
    Namespace: _set_on_namespace,
    Optimizer: _set_on_object,
    Plain: _set_on_settings,
    Settings: _set_on_object,
}
"""What assigning an attribute of a value of each type does."""
