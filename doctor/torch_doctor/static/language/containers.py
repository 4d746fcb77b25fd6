"""What an iterable holds, and what `value[key]` is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.language import conditions, invocation
from torch_doctor.static.measuring import making, measured
from torch_doctor.static.tables.functions import LOG_OF
from torch_doctor.static.training import memory, module_parts, places, plain_tensors, splitting
from torch_doctor.static.values import (
    ANY_NAME,
    Args,
    Const,
    Content,
    Either,
    FunctionValue,
    Instance,
    Keywords,
    Lib,
    Loader,
    Making,
    Mapping,
    Module,
    Params,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    compound,
    hashable,
    held,
    join,
    plain_from,
    summary,
)
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from torch_doctor.static.executor import Executor


def content_of(run: Executor, value: Value) -> Content:
    """What an iterable holds."""
    value = run.resolve(value)
    if isinstance(value, Sequence):
        return value.content
    if isinstance(value, Module):
        children = module_parts.listed(value)
        if children is not None:
            return children
    if isinstance(value, Mapping):
        keys = [key[1] for key in value.fields if isinstance(key, tuple)]
        return Content(tuple(Const(key) for key in keys), Plain() if "rest" in value.fields else None)
    if isinstance(value, Const) and isinstance(value.value, str):
        return Content((), Plain())
    return Content((), element_of(run, value))


def element_of(run: Executor, value: Value) -> Value:
    """One item of something whose items are not told apart."""
    value = run.resolve(value)
    if isinstance(value, Tensor):
        row = making("unbind", (value,))
        return value.altered(scalar=None, meta=row, made=None, place=_place_of_row(value))
    if isinstance(value, Params):
        one = Params(value.modules, whole=value.whole, single=True)
        if not value.named:
            return one
        return run.own(Sequence("tuple", Content((Plain(), one))))
    if isinstance(value, Loader):
        return run.batch_of(value)
    if isinstance(value, Tool) and value.name == "torch.utils.data.random_split":
        return value
    if isinstance(value, (Plain, Const)):
        return plain_from((value,))
    if isinstance(value, Either):
        return summary(element_of(run, option) for _, option in value.options)
    if isinstance(value, (Sequence, Mapping)):
        content = content_of(run, value).all()
        return summary(content) if content else Unknown()
    if isinstance(value, Instance):
        return item_of_instance(run, value)
    return Unknown(value.flow, held((value,)), place=places.part(value.place) if isinstance(value, Unknown) else None)


def _place_of_row(tensor: Tensor) -> Value | None:
    shape = measured(tensor).shape if tensor.place is not None else None
    return tensor.place if shape is not None and len(shape) > 1 else None


def _index(run: Executor, node: p.Index) -> Value:
    value = run.resolve(run.evaluate(node.value))
    key = run.resolve(run.evaluate(node.key))
    return item_at(run, value, key, node)


def item_at(run: Executor, value: Value, key: Value, node: p.Index) -> Value:  # noqa: C901, PLR0911, PLR0912 - one branch per sort of value
    """`value[key]`."""
    if isinstance(value, Either):
        return summary(item_at(run, option, key, node) for _, option in value.options)
    if isinstance(value, Sequence) or (isinstance(value, Module) and module_parts.listed(value) is not None):
        content = content_of(run, value)
        if isinstance(node.key, p.Slice):
            if isinstance(value, Module):
                return module_parts.sliced(run, value, content, node)
            kept = Content((), summary(content.all()) if content.all() else None)
            return run.own(Sequence(value.kind, kept, value.born, run.frame.what))
        if isinstance(key, Const) and isinstance(key.value, int) and content.rest is None:
            try:
                return content.items[key.value]
            except IndexError:
                return Unknown()
        if isinstance(key, Const) and key.value == 0 and content.items:
            return content.items[0]
        return run.resolve(summary(content.all())) if content.all() else Unknown()
    if isinstance(value, Mapping):
        if isinstance(key, Const) and hashable(key.value):
            found = value.fields.get(("key", key.value))
            if isinstance(found, Value):
                return run.resolve(found)
            return value.fields.get("rest") or Unknown()
        everything = value.values()
        return chosen(run, value, key) or (summary(everything) if everything else Unknown())
    if isinstance(value, Tensor):
        meta = making("[]", (value, key), None, node.key)
        masked = isinstance(key, Tensor) and key.kind is Kind.UNKNOWN  # what a comparison gave
        made_by = "torch.masked_select" if masked and value.kind in LOG_OF else value.made_by
        made = plain_tensors.of_item(value, key, node)
        taken = isinstance(node.key, (p.Slice, p.Display)) or isinstance(key, Tensor)
        place = value.place if taken else _place_of_row(value)
        item = value.altered(made_by=made_by, scalar=None, meta=meta, made=made, place=place)
        if run.shares.of and isinstance(key, (Const, Plain)):
            memory.viewed(run, "select", value, item)
        return splitting.taken(run, value, key, node, item) if splitting.are_rows(run, value) else item
    if isinstance(value, Module):
        return run.attribute(value, str(key.value) if isinstance(key, Const) else ANY_NAME, node)
    if isinstance(value, Plain):
        plain = plain_from((value,), compound("[]", value.symbol, conditions.symbol_of(key)), size=size_in(value, key))
        return plain if value.size is not None else splitting.taken(run, value, key, node, plain)
    if isinstance(value, Instance):
        return item_of_instance(run, value, key, node)
    if isinstance(value, Lib):
        return value  # a generic alias: List[int]
    if isinstance(value, Unknown):
        flow = value.flow
        if isinstance(key, Const) and isinstance(key.value, str):
            flow = flow.part(key.value)
        sliced = isinstance(node.key, p.Slice)
        place = value.place if sliced else places.part(value.place) if isinstance(key, Const) else None
        item_ = Unknown(flow, value.holds, compound("[]", value.symbol, conditions.symbol_of(key)), place)
        return splitting.taken(run, value, key, node, item_) if splitting.are_rows(run, value) else item_
    return Unknown(value.flow, held((value,)))


def size_of(values: Args, keywords: Keywords) -> Plain:
    """`tensor.size()` and `tensor.size(dim)`."""
    shape = Plain(size=Making("shape", values[:1]) if isinstance(values[0], Tensor) else None)
    dim = values[1] if len(values) > 1 else keywords.get("dim")
    return shape if dim is None else Plain(size=size_in(shape, dim))


def size_in(shape: Plain, key: Value) -> Making | None:
    """One of the sizes of a tensor, of its shape; None where that is no shape, or the dimension not known."""
    if shape.size is None or shape.size.name != "shape" or not isinstance(key, Const):
        return None
    return Making("size", shape.size.args, of=key.value)


def chosen(run: Executor, mapping: Mapping, key: Value) -> Value | None:
    """A dict's value under a key that is not known: one option per key, told apart by the key."""
    options = [(k[1], v) for k, v in mapping.fields.items() if isinstance(k, tuple) and isinstance(v, Value)]
    if "rest" in mapping.fields or not options:
        return None
    result: Value = options[-1][1]
    for name, value in reversed(options[:-1]):
        result = join(value, result, ("==", conditions.symbol_of(key), ("const", name)))
    return run.resolve(result)


def item_of_instance(run: Executor, value: Instance, key: Value | None = None, node: p.Node | None = None) -> Value:
    """One item of an object of a project class: what `__getitem__` or `__iter__` gives."""
    for method in ("__getitem__",) if key is not None else ("__iter__", "__getitem__"):
        found = value.cls.find(method)
        if found is not None and isinstance(found[0], FunctionValue) and node is not None:
            result = invocation.enter(run, found[0], (value, key) if key is not None else (value,), {}, node)
            return result if method == "__getitem__" else element_of(run, result)
    return Unknown(Flow(graph=None), held((value,)))


EXPRESSIONS: Final[dict[type[p.Expr], Callable[[Executor, Any], Value]]] = {
    p.Index: _index,
}
