"""What assigning does to each sort of target: names, attributes, items, several at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.flow import blend
from torch_doctor.static.language import containers, invocation, operators
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.tables.shapes import ALLOCATORS
from torch_doctor.static.training import (
    built_in_forward,
    cuts,
    flags,
    keeping,
    memory,
    module_parts,
    outdated,
    parameters,
    pixels,
    places,
    plain_tensors,
    settings,
    splitting,
    sums,
)
from torch_doctor.static.values import (
    ANY_NAME,
    CPU,
    ClassValue,
    Const,
    Content,
    Either,
    Fact,
    FunctionValue,
    Instance,
    Lib,
    Loader,
    Mapping,
    Module,
    Namespace,
    Optimizer,
    ParameterValue,
    Params,
    Place,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    hashable,
    held,
    join,
    summary,
)
from torch_doctor.static.values.shapes import Making
from torch_doctor.trace import (
    Backward,
    Kind,
    ZeroGrad,
)
from torch_doctor.trace.words import Retention

if TYPE_CHECKING:
    from torch_doctor.static.executor import Executor


def bind_name(run: Executor, name: str, value: Value) -> None:
    """Assign a variable of the current frame."""
    frame = run.frame
    outer = frame.outer.get(name)
    fields = frame.fields
    if outer is True:
        fields = frame.globals.fields
    elif outer is False and frame.closure is not None:
        holder = frame.closure.holder(name)
        fields = fields if holder is None else holder.fields
    run.heap.set(fields, name, value)


def bind(run: Executor, target: p.Expr, value: Value, node: p.Node) -> None:
    """Assign to a target: a name, attribute, item, or several at once."""
    value = sums.started(run, value, node)
    if isinstance(target, p.Name):
        bind_name(run, target.id, value)
    elif isinstance(target, p.Attribute):
        holder = run.resolve(run.evaluate(target.value))
        if isinstance(holder, Lib):
            settings.attribute_set(run, holder, value, node, target)
        flags.note(run, holder, value, node, target)
        if isinstance(holder, (Tensor, Params, ParameterValue)):
            outdated.of_tensor(run, target.name, target)
        set_attribute(run, holder, target.name, value, node, target)
        keeping.stored(run, value, node)
    elif isinstance(target, p.Index):
        holder = run.resolve(run.evaluate(target.value))
        key = run.evaluate(target.key)
        if isinstance(holder, Lib):
            settings.item_set(run, holder, key, value, node)
        set_item(run, holder, key, value, node, target)
        if pixels.scaled(holder, value) and isinstance(target.value, (p.Name, p.Attribute)):
            bind(run, target.value, Unknown(), node)
        if isinstance(holder, Tensor) and isinstance(target.value, p.Name):
            bind_name(run, target.value.id, written_into(run, holder, value))
        if run.shares.arrays:
            memory.changed(run, holder, run.text(target.value), node)
        if not isinstance(holder, (Sequence, Mapping)):
            keeping.stored(run, value, node)
        if isinstance(holder, Plain) and value.flow.rows:
            changed = splitting.stored(run, holder, value, target)
            if changed is not None and isinstance(changed[0], (p.Name, p.Attribute)):
                bind(run, *changed, node)
    elif isinstance(target, p.Display):
        for part, item in zip(target.items, unpack(run, value, target.items, node), strict=False):
            bind(run, part.value if isinstance(part, p.Star) else part, item, node)
    elif isinstance(target, p.Star):
        bind(run, target.value, value, node)


def unpack(run: Executor, value: Value, targets: tuple[p.Expr, ...], node: p.Node) -> list[Value]:
    """Take a value apart for several targets."""
    value = run.resolve(value)
    if isinstance(value, Either):
        parts = [unpack(run, option, targets, node) for _, option in value.options]
        return [summary(column) for column in zip(*parts, strict=True)]
    if isinstance(value, (Sequence, Module)):
        content = containers.content_of(run, value)
        starred = next((i for i, target in enumerate(targets) if isinstance(target, p.Star)), None)
        if content.rest is None and starred is None and len(content.items) == len(targets):
            return list(content.items)
        if content.rest is None and starred is not None and len(content.items) >= len(targets) - 1:
            tail = len(targets) - starred - 1
            items = content.items
            middle = items[starred : len(items) - tail]
            rest = run.own(Sequence("list", Content(middle), run.site(node), run.frame.what))
            return [*items[:starred], rest, *items[len(items) - tail :]]
        one = summary(content.all()) if content.all() else Unknown()
        return [one] * len(targets)
    if isinstance(value, Plain) and value.size is not None and value.size.name == "shape":
        return [Plain(size=containers.size_in(value, Const(number))) for number in range(len(targets))]
    if isinstance(value, Unknown) and value.flow.forwards and len(targets) > 1:
        where = places.part(value.place)
        return [Unknown(value.flow.part(number), held((value,)), place=where) for number in range(len(targets))]
    one = containers.element_of(run, value)
    if isinstance(one, Sequence) and isinstance(value, Unknown):
        one = Unknown(value.flow, value.holds, place=value.place)
    return [one] * len(targets)


def set_attribute(run: Executor, value: Value, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
    """Assign an attribute."""
    if isinstance(value, Module):
        if name == "training":
            run.heap.set(value.facts, Fact.MODE, (next(run.stamps), new.value if isinstance(new, Const) else None))
        else:
            parameters.assigned(run, value, name, new, node)
            new = plain_tensors.assigned(run, value, name, new, node)
            module_parts.set_module_attribute(run, value, name, new, node)
            if value.table is not None and value.table.parameters:
                places.lost_sight(run, (value.id,), ())  # the new weight may be elsewhere
    elif isinstance(value, (Params, ParameterValue)):
        _set_on_parameters(run, value, name, new, node)
    elif isinstance(value, (Instance, Tool, Loader, ClassValue, Namespace, Optimizer)):
        run.heap.set(value.fields, name, new)
        if isinstance(value, Tool) and isinstance(new, Module):
            places.lost_sight(run, module_parts.with_parts(run, frozenset((new.id,))), ())
    elif isinstance(value, Either):
        for _, option in value.options:
            set_attribute(run, option, name, new, node, target)
    elif name == "requires_grad":
        if isinstance(value, (Tensor, Unknown)) and isinstance(new, Const) and new.value:
            make_leaf(run, value, target.value)
    else:
        if name == "data" and isinstance(value, Unknown):
            _now_where(run, value.holds, new)
        places.disturbed(run, value)


def _now_where(run: Executor, modules: frozenset[int], new: Value) -> None:
    """Parameters of these modules are where the tensor is that they were given as their `data`."""
    place = places.of(new)
    if not (isinstance(place, Place) and place.device == CPU):
        places.lost_sight(run, modules, ())


def make_leaf(run: Executor, value: Value, where: p.Expr) -> Value:
    """`x.requires_grad = True`: gradients flow to this tensor from now on."""
    if value.flow.graph is True:
        return value
    leaf = cuts.leaf(run, value.flow, value, where, made=False)
    bind(run, where, leaf, where)
    return leaf


def _set_on_parameters(run: Executor, value: Params | ParameterValue, name: str, new: Value, node: p.Node) -> None:
    modules = value.modules if isinstance(value, Params) else frozenset((value.id,))
    if name == "requires_grad":
        frozen = not new.value if isinstance(new, Const) else None
        whole = isinstance(value, ParameterValue) or value.whole
        for number in modules:
            thing = run.objects.get(number)
            if thing is not None:
                run.heap.set(thing.facts, Fact.FROZEN, frozen if whole else None)
    elif name == "grad" and isinstance(new, Const) and new.value is None:
        run.emit(ZeroGrad, node, target=0, name=run.text(node), modules=modules, whole=True)
    elif name == "grad":
        run.emit(ZeroGrad, node, target=0, name=run.text(node), modules=modules, whole=True)
        run.emit(
            Backward,
            node,
            name=run.text(node),
            through="assigned",
            loss=run.fact(new),
            modules=modules,
            whole=True,
            forwards=new.flow.forwards,
        )
    elif name == "data":
        if isinstance(value, Params):
            built_in_forward.weights_given(run, value)
        _now_where(run, modules, new)
        parameters.update_by_hand(run, modules, new, node)


def set_item(run: Executor, holder: Value, key: Value, new: Value, node: p.Node, target: p.Index) -> None:
    """Assign an item."""
    key = run.resolve(key)
    if isinstance(holder, Mapping):
        if isinstance(key, Const) and hashable(key.value):
            run.heap.set(holder.fields, ("key", key.value), new)
            return
        old = holder.fields.get("rest")
        carries = old.flow.retained if isinstance(old, Value) else frozenset[int]()
        kept = keeping.keep(run, new, Retention.STORED, run.text(target), carries, node)
        run.heap.set(holder.fields, "rest", kept if old is None else join(old, kept))
        for name, item in list(holder.fields.items()):
            if isinstance(name, tuple) and isinstance(item, (Tensor, Unknown)) and item.place is not None:
                run.heap.set(holder.fields, name, places.out_of_sight(item))
        _note(run, holder, node)
    elif isinstance(holder, Sequence):
        content = holder.content
        if (
            isinstance(key, Const)
            and isinstance(key.value, int)
            and -len(content.items) <= key.value < len(content.items)
        ):
            items = list(content.items)
            items[key.value] = new
            run.heap.set(holder.fields, "items", Content(tuple(items), content.rest))
        else:
            everything = (*content.all(), new)
            items_ = tuple(map(places.out_of_sight, content.items))
            run.heap.set(holder.fields, "items", Content(items_, summary(everything)))
        _note(run, holder, node)
    elif isinstance(holder, Module):
        module_parts.set_module_attribute(
            run, holder, str(key.value) if isinstance(key, Const) else ANY_NAME, new, node
        )
        content_ = module_parts.listed(holder)
        if content_ is not None:
            module_parts.add_to_list(run, holder, (new,), node)
    elif isinstance(holder, Instance):
        found = holder.cls.find("__setitem__")
        if found is not None and isinstance(found[0], FunctionValue):
            invocation.enter(run, found[0], (holder, key, new), {}, node)
    elif isinstance(holder, Unknown):
        places.disturbed(run, holder)
        if run.modules_called:
            plain_tensors.left(run, new, node)


def written_into(run: Executor, holder: Tensor, new: Value) -> Tensor:
    """What a tensor is when some of its elements have been overwritten, `holder[key] = new`, which autograd records.

    One that was only allocated means what is put there; where old and new numbers mean different things, nobody knows.
    """
    flow = operators.recorded(run, blend((holder.flow, new.flow)))
    flow = replace(flow, means=holder.flow.means, sums=holder.flow.sums)  # what a row is, the whole is not
    fresh = (
        holder.kind is Kind.UNKNOWN and holder.flow.graph is False and not holder.flow.forwards and _allocated(holder)
    )
    kind = new.kind if isinstance(new, Tensor) else Kind.UNKNOWN
    if flow == holder.flow and (kind is holder.kind or isinstance(new, (Const, Plain))):
        return holder
    if fresh and isinstance(new, Tensor):
        return holder.altered(flow=flow, kind=kind, made_at=new.made_at, made_by=new.made_by, trail=new.trail)
    if kind is not holder.kind:
        return holder.altered(flow=flow, kind=Kind.UNKNOWN, made_at=None, made_by="", trail=())
    return holder.with_flow(flow)


def _allocated(tensor: Tensor) -> bool:
    """Whether its numbers are those that it was allocated with."""
    made = tensor.meta
    while isinstance(made, Making) and made.name in MOVES and made.args and isinstance(made.args[0], Tensor):
        made = made.args[0].meta
    return isinstance(made, Making) and made.name in ALLOCATORS


def _note(run: Executor, holder: Sequence | Mapping, node: p.Node) -> None:
    site = run.site(node)
    if site not in holder.fact(Fact.FILLED):
        run.heap.set(holder.facts, Fact.FILLED, (*holder.fact(Fact.FILLED), site))
