"""What assigning an item does to each sort of holder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.flow import alternatives, blend
from torch_doctor.static.language import invocation, kept, operators, settings
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.tables.shapes import ALLOCATORS
from torch_doctor.static.training import hub_rows, places, plain_tensors, written_out
from torch_doctor.static.training.data import class_orders
from torch_doctor.static.training.graph import emptying, keeping
from torch_doctor.static.training.module import module_parts, registering
from torch_doctor.static.training.update import given_gradients
from torch_doctor.static.values import (
    ANY_NAME,
    Call,
    Const,
    Content,
    Fact,
    FunctionValue,
    Globals,
    Grads,
    Instance,
    Mapping,
    Method,
    Module,
    Plain,
    Sequence,
    Settings,
    Tensor,
    Unknown,
    UnknownAttribute,
    Value,
    constant,
    hashable,
    held,
    join,
    summary,
    texts,
)
from torch_doctor.static.values.shapes import Making
from torch_doctor.trace import (
    Kind,
)
from torch_doctor.trace.words import Retention

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from torch_doctor.static.run import Run


def set_item(run: Run, holder: Value, key: Value, new: Value, node: p.Node, target: p.Index) -> None:
    """Assign an item."""
    setter = HOLDERS.get(holder.__class__)
    if setter is not None:
        setter(run, holder, run.resolve(key), new, target, node)
    kept.given(run, holder, (new,))


def _of_mapping(run: Run, holder: Mapping, key: Value, new: Value, target: p.Index, node: p.Node) -> None:
    if isinstance(key, Const) and hashable(key.value):
        emptying.replaced(run, holder.fields, ("key", key.value), new)
        run.heap.set(holder.fields, ("key", key.value), new)
        return
    given = node.value if isinstance(node, p.Assign) else None
    new = class_orders.counted_up(run, key, new, run.text(target.value), given, node)
    old = holder.fields.get("rest")
    carries = old.flow.retained if isinstance(old, Value) else frozenset[int]()
    bounded = emptying.is_emptied(run, holder.fields, "rest", carries) or keeping.comes_again(run, key, carries)
    name = written_out.name_of_graph(run, new, node.value) if isinstance(node, p.Assign) else ""
    retained = keeping.keep(run, new, Retention.STORED, run.text(target), carries, node, name, bounded=bounded)
    keeping.stored_under(run, key, retained.flow.retained - carries)
    run.heap.set(holder.fields, "rest", retained if old is None else join(old, retained))
    for name, item in list(holder.fields.items()):
        if isinstance(name, tuple) and isinstance(item, (Tensor, Unknown)):
            run.heap.set(holder.fields, name, _perhaps(places.out_of_sight(item), new, node))
    _note(run, holder, node)


def _of_sequence(run: Run, holder: Sequence, key: Value, new: Value, _: p.Index, node: p.Node) -> None:
    content = holder.content
    if isinstance(key, Const) and isinstance(key.value, int) and -len(content.items) <= key.value < len(content.items):
        items = list(content.items)
        items[key.value] = new
        run.heap.set(holder.fields, "items", Content(tuple(items), content.rest))
    else:
        everything = (*content.all(), new)
        known = tuple(_perhaps(places.out_of_sight(item), new, node) for item in content.items)
        run.heap.set(holder.fields, "items", Content(known, summary(everything)))
    _note(run, holder, node)


def _perhaps(item: Value, new: Value, node: p.Node) -> Value:
    """An item that may have been replaced by one without its graph, which no test of the path tells, nor a backward pass."""
    had = item.flow.graph is True or (item.flow.graph is None and item.flow.graph_forwards)
    if not had or new.flow.graph is True:
        return item
    return Unknown(alternatives(item.flow, new.flow).part(node), held((item, new)))


def _of_module(run: Run, holder: Module, key: Value, new: Value, _: p.Index, node: p.Node) -> None:
    content, number = module_parts.listed(holder), constant(key)
    if content is not None and content.rest is None and isinstance(number, int) and number < 0:
        number += len(content.items)
    registering.set_module_attribute(run, holder, ANY_NAME if number is None else str(number), new, node)
    if content is not None and not (isinstance(new, Module) and module_parts.listed(holder) is not content):
        registering.add_to_list(run, holder, (new,), node)


def _of_instance(run: Run, holder: Instance, key: Value, new: Value, _: p.Index, node: p.Node) -> None:
    found = holder.cls.find("__setitem__")
    if found is not None and isinstance(found[0], FunctionValue):
        invocation.enter(run, found[0], Call((holder, key, new), {}, node))
    else:
        kept.put_in(run, holder, (new,))


def _of_settings(run: Run, holder: Plain | Settings, key: Value, new: Value, _: p.Index, node: p.Node) -> None:
    kept.perhaps_set_in(run, holder.symbol if isinstance(holder, Plain) else ())
    settings.keep(run, holder, settings.key_of(key), new, node)


def _of_globals(run: Run, holder: Globals, key: Value, new: Value, _: p.Index, __: p.Node) -> None:
    name = texts.known(key)
    if name is not None:
        run.heap.set(holder.namespace.fields, name, new)


def _of_parts(run: Run, holder: Method, key: Value, new: Value, _: p.Index, node: p.Node) -> None:
    """`module._modules[name] = other`."""
    if holder.name != "_modules" or not isinstance(holder.of, Module):
        return
    name = texts.known(key)
    if name is not None:
        registering.set_module_attribute(run, holder.of, name, new, node)
    else:
        registering.perhaps_replaced(run, holder.of, new)


def _of_gradients(run: Run, holder: Grads, _: Value, new: Value, target: p.Index, node: p.Node) -> None:
    given_gradients.set_item(run, holder, new, target, node)


def _of_unknown(run: Run, holder: Unknown, key: Value, new: Value, target: p.Index, node: p.Node) -> None:
    registering.perhaps_replaced(run, holder, new)
    kept.perhaps_set_in(run, holder.symbol)
    moved = places.disturbed(run, hub_rows.changed(run, holder))
    whole = not isinstance(key, Tensor) and not isinstance(target.key, (p.Slice, p.Display))  # and no part of a tensor
    other = _perhaps(moved, new, node) if whole and moved.flow.graph is None else moved
    if other is not moved and isinstance(moved, Unknown):
        run.heap.change(moved, Unknown(other.flow, moved.holds, moved.symbol, moved.origin))
    if run.modules_called:
        plain_tensors.left(run, new, node)


def written_into(run: Run, holder: Tensor, new: Value) -> Tensor:
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
        return holder.altered(flow=flow, kind=kind, origin=holder.origin.by(new.origin.operation, new.origin.site))
    if kind is not holder.kind:
        return holder.altered(flow=flow, kind=Kind.UNKNOWN, origin=holder.origin.by())
    return holder.with_flow(flow)


def _allocated(tensor: Tensor) -> bool:
    """Whether its numbers are those that it was allocated with."""
    made = tensor.meta
    while isinstance(made, Making) and made.name in MOVES and made.args and isinstance(made.args[0], Tensor):
        made = made.args[0].meta
    return isinstance(made, Making) and made.name in ALLOCATORS


def _note(run: Run, holder: Sequence | Mapping, node: p.Node) -> None:
    site = run.site(node)
    if site not in holder.fact(Fact.FILLED):
        run.heap.set(holder.facts, Fact.FILLED, (*holder.fact(Fact.FILLED), site))


HOLDERS: Final[dict[type[Value], Callable[[Run, Any, Value, Value, p.Index, p.Node], None]]] = {
    Mapping: _of_mapping,
    Sequence: _of_sequence,
    Module: _of_module,
    Instance: _of_instance,
    Grads: _of_gradients,
    Method: _of_parts,
    Globals: _of_globals,
    Unknown: _of_unknown,
    UnknownAttribute: _of_unknown,
    Plain: _of_settings,
    Settings: _of_settings,
}
"""What assigning an item of a value of each type does."""
