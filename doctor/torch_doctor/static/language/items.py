"""Items: what `value[key]` is on each sort of value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.domains import channels
from torch_doctor.static.domains.rows import holding
from torch_doctor.static.language import containers, defaults, named_things, operators, settings, shape_items
from torch_doctor.static.measuring import making, measured
from torch_doctor.static.tables import models
from torch_doctor.static.tables.functions import LOG_OF
from torch_doctor.static.training import filling, places, plain_tensors, splitting
from torch_doctor.static.training.data import arrays, loader_roles, stretches
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.training.module import module_parts, registering
from torch_doctor.static.values import (
    ANY_NAME,
    NOWHERE,
    Call,
    Const,
    Content,
    Either,
    Globals,
    Instance,
    Lib,
    Loader,
    Mapping,
    Module,
    Number,
    OneOfTexts,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Settings,
    Tensor,
    Unknown,
    UnknownAttribute,
    Value,
    compound,
    constant,
    hashable,
    held,
    plain_from,
    summary,
    symbol_of,
    texts,
)
from torch_doctor.static.values.symbols import LENGTH
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from torch_doctor.static.run import Run


def _index(run: Run, node: p.Index) -> Value:
    value = run.resolve(run.evaluate(node.value))
    key = run.resolve(run.evaluate(node.key))
    return item_at(run, value, key, node)


def item_at(run: Run, value: Value, key: Value, node: p.Index) -> Value:
    """`value[key]`."""
    return ITEMS.get(value.__class__, _of_value)(run, value, key, node)


def _of_value(_: Run, value: Value, __: Value, ___: p.Index) -> Value:
    return Unknown(value.flow, held((value,)))


def _of_parameter(run: Run, value: ParameterValue, key: Value, node: p.Index) -> Value:
    """Some rows of a parameter: a computation, which has no graph under `no_grad`."""
    return Tensor(operators.recorded(run, value.flow), meta=making("[]", (value, key), None, node.key))


def _of_params(run: Run, value: Params, key: Value, node: p.Index) -> Value:
    """One of parameters that are kept by their names."""
    if not value.named or value.single or isinstance(node.key, p.Slice):
        return _of_value(run, value, key, node)
    return Params(value.modules, whole=value.whole, single=True, among=isinstance(key, Const), cut=value.cut)


def _of_any(run: Run, value: Either, key: Value, node: p.Index) -> Value:
    options = [option for _, option in value.options]
    several = [option for option in options if not (isinstance(option, Tensor) and option.scalar is True)]
    return summary(item_at(run, option, key, node) for option in several or options)  # a single number has no items


def _of_sequence(run: Run, value: Sequence, key: Value, node: p.Index) -> Value:
    content = value.content
    if isinstance(node.key, p.Slice):
        known = shape_items.cut(value, key)
        rest = summary(content.all()) if content.all() else None
        part = Content((), rest) if known is None else Content(known)
        cut = filling.cut(value, key, run.own(Sequence(value.kind, part, value.born, run.frame.what)))
        return stretches.sliced(run, value, node, cut)
    return _in_content(run, content, key)


def _of_module(run: Run, value: Module, key: Value, node: p.Index) -> Value:
    content = module_parts.listed(value)
    if content is None:
        return run.attribute(value, str(key.value) if isinstance(key, Const) else ANY_NAME, node)
    if isinstance(node.key, p.Slice):
        return registering.sliced(run, value, content, node)
    member = value.fields.get(key.value) if isinstance(key, Const) and isinstance(key.value, str) else None
    if isinstance(member, Value):
        return run.resolve(member)
    return _in_content(run, content, key)


def _in_content(run: Run, content: Content, key: Value) -> Value:
    if isinstance(key, Const) and isinstance(key.value, int) and content.rest is None:
        try:
            return content.items[key.value]
        except IndexError:
            return Unknown()
    if isinstance(key, Const) and key.value == -1 and content.last is not None:
        return run.resolve(content.last)
    if isinstance(key, Const) and key.value == 0 and content.items:
        return content.items[0]
    return run.resolve(summary(content.all())) if content.all() else Unknown()


def _of_mapping(run: Run, value: Mapping, key: Value, _: p.Index) -> Value:
    if isinstance(key, Const) and hashable(key.value):
        found = value.fields.get(("key", key.value))
        return run.resolve(found) if isinstance(found, Value) else value.fields.get("rest") or Unknown()
    everything = value.values()
    return containers.chosen(run, value, key) or (summary(everything) if everything else Unknown())


def _of_tensor(run: Run, value: Tensor, key: Value, node: p.Index) -> Value:
    meta = making("[]", (value, key), None, node.key)
    masked = isinstance(key, Tensor) and (key.kind is Kind.UNKNOWN or measured(key).dtype == "bool")  # of a comparison
    origin = plain_tensors.of_item(value, key, node)
    if masked and value.kind in LOG_OF:
        origin = origin.by("torch.masked_select", origin.site)
    item = value.altered(scalar=None, meta=meta, origin=origin, flow=operators.recorded(run, value.flow))
    for observe in run.observers.made["[]"]:
        observe(run, "[]", Call((value, key), {}, node), item)
    taken = splitting.taken(run, value, key, node, item) if holding.are_rows(run, value) else item
    return stretches.sliced(run, value, node, taken)


def _of_plain(run: Run, value: Plain, key: Value, node: p.Index) -> Value:
    if isinstance(node.key, p.Slice) and (known := shape_items.cut(value, key)) is not None:
        return run.own(Sequence("tuple", Content(known), run.site(node), run.frame.what))
    symbol = compound("[]", value.symbol, symbol_of(key))
    if value.size is not None and value.size.name == "shape":
        symbol = (LENGTH, symbol)
    if (chosen := defaults.setting(run, symbol)) is not None:
        return chosen
    symbol = channels.item(value, key) or symbol
    plain = plain_from((value,), symbol, size=arrays.item(value, key, node) or shape_items.size_in(value, key))
    if value.size is not None and arrays.tensor_of(value) is None:
        return plain
    return stretches.sliced(run, value, node, splitting.taken(run, value, key, node, plain))


def _of_settings(run: Run, value: Settings, key: Value, node: p.Index) -> Value:
    return settings.kept(value, settings.key_of(key)) or _of_plain(run, value.of, key, node)


def _of_loader(run: Run, value: Loader, key: Value, node: p.Index) -> Value:
    if value.born is not None or isinstance(node.key, p.Slice):
        return _of_value(run, value, key, node)
    return loader_roles.one_of(run, value, key)


def _of_instance(run: Run, value: Instance, key: Value, node: p.Index) -> Value:
    return containers.item_of_instance(run, value, key, node)


def _of_library(run: Run, value: Lib, key: Value, __: p.Index) -> Value:
    module = texts.known(key) if value.name == "sys.modules" else None
    if module is not None:
        return named_things.module_of(run, module)
    package, _dot, name = value.name.rpartition(".")
    builder = models.member(package, constant(key)) if name == "__dict__" else None
    return Lib(builder) if builder is not None else value  # a generic alias: List[int]


def _of_globals(run: Run, value: Globals, key: Value, node: p.Index) -> Value:
    name = texts.known(key)
    if name is None:
        return named_things.one_of(run, key, lambda each: run.attribute(value.namespace, each, node)) or Unknown()
    return run.attribute(value.namespace, name, node)


def _of_unknown(run: Run, value: Unknown, key: Value, node: p.Index) -> Value:
    flow = value.flow.part(key.value) if isinstance(key, Const) and isinstance(key.value, str) else value.flow
    if isinstance(key, Const):
        part = language_models.part(run, value, key.value)
        if part is not None:
            return part
        flow = language_models.taken(run, value, key.value, flow)
    sliced = isinstance(node.key, p.Slice)
    origin = value.origin if sliced else places.part(value.origin) if isinstance(key, Const) else NOWHERE
    item = Unknown(flow, value.holds, compound("[]", value.symbol, symbol_of(key)), origin)
    if isinstance(node.key, p.Slice) and node.key.lower is None:
        item = language_models.same(run, value, item)
    taken = splitting.taken(run, value, key, node, item) if holding.are_rows(run, value) else item
    return stretches.sliced(run, value, node, taken)


ITEMS: Final[dict[type[Value], Callable[[Run, Any, Value, p.Index], Value]]] = {
    Either: _of_any,
    Sequence: _of_sequence,
    Module: _of_module,
    Mapping: _of_mapping,
    Tensor: _of_tensor,
    ParameterValue: _of_parameter,
    Params: _of_params,
    Plain: _of_plain,
    OneOfTexts: _of_plain,
    Number: _of_plain,
    Settings: _of_settings,
    Instance: _of_instance,
    Loader: _of_loader,
    Lib: _of_library,
    Globals: _of_globals,
    Unknown: _of_unknown,
    UnknownAttribute: _of_unknown,
}
"""What an item of a value of each type is."""

dispatch.EXPRESSIONS.update(
    {
        p.Index: _index,
    }
)
