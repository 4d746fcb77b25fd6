"""What an iterable holds, and what one of its items is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.domains.rows import classes
from torch_doctor.static.flow import Flow
from torch_doctor.static.language import invocation, shape_items
from torch_doctor.static.measuring import making
from torch_doctor.static.training import places, plain_tensors
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import (
    Call,
    Const,
    Content,
    Default,
    Distribution,
    Either,
    FunctionValue,
    Instance,
    Loader,
    Making,
    Mapping,
    Module,
    Number,
    OneOfTexts,
    Params,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Tool,
    Unknown,
    UnknownAttribute,
    Value,
    Zero,
    fresh_symbol,
    held,
    join,
    plain_from,
    summary,
    symbol_of,
)
from torch_doctor.static.values.symbols import LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def content_of(run: Run, value: Value) -> Content:
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
        rest = value.fields.get("rest")
        return Content(
            tuple(Const(key) for key in keys), classes.numbered(run, Plain(), rest) if rest is not None else None
        )
    if isinstance(value, Const) and isinstance(value.value, str):
        return Content((), Plain())
    sizes = shape_items.sizes_of(value)
    return Content((), element_of(run, value)) if sizes is None else Content(sizes)


def element_of(run: Run, value: Value) -> Value:
    """One item of something whose items are not told apart."""
    value = run.resolve(value)
    return ELEMENTS.get(value.__class__, _of_value)(run, value)


def _of_value(_: Run, value: Value) -> Value:
    return Unknown(value.flow, held((value,)))


def _of_unknown(_: Run, value: Unknown) -> Value:
    return Unknown(value.flow, held((value,)), origin=places.part(value.origin))


def _of_tensor(_: Run, value: Tensor) -> Value:
    row = making("unbind", (value,))
    return value.altered(scalar=None, meta=row, origin=plain_tensors.of_row(value))


def _of_stream(_: Run, value: Stream) -> Value:
    """A part of a tensor, of which all parts are alike."""
    alike = isinstance(value.item, Tensor) and value.content is None and not value.loader
    return value.item if alike else _of_value(_, value)


def _of_params(run: Run, value: Params) -> Value:
    one = Params(value.modules, whole=value.whole, single=True)
    return run.own(Sequence("tuple", Content((Plain(), one)))) if value.named else one


def _of_tool(run: Run, value: Tool) -> Value:
    return value if value.name == "torch.utils.data.random_split" else _of_value(run, value)


def _of_plain(_: Run, value: Value) -> Value:
    return plain_from((value,))


def _of_any(run: Run, value: Either) -> Value:
    return summary(element_of(run, option) for _, option in value.options)


def _of_container(run: Run, value: Sequence | Mapping) -> Value:
    content = content_of(run, value).all()
    return summary(content) if content else Unknown()


def _of_loader(run: Run, value: Loader) -> Value:
    return run.batch_of(value)


def _of_instance(run: Run, value: Instance) -> Value:
    return item_of_instance(run, value)


ELEMENTS: Final[dict[type[Value], Callable[[Run, Any], Value]]] = {
    Unknown: _of_unknown,
    UnknownAttribute: _of_unknown,
    Stream: _of_stream,
    Tensor: _of_tensor,
    Params: _of_params,
    Loader: _of_loader,
    Tool: _of_tool,
    Distribution: _of_tool,
    Const: _of_plain,
    Zero: _of_plain,
    Default: _of_plain,
    Plain: _of_plain,
    OneOfTexts: _of_plain,
    Number: _of_plain,
    Either: _of_any,
    Sequence: _of_container,
    Mapping: _of_container,
    Instance: _of_instance,
}
"""How one item of a value of each type is found."""


def size_of(call: Call) -> Plain:
    """`tensor.size()` and `tensor.size(dim)`."""
    shape = Plain(size=Making("shape", call.args[:1]) if isinstance(call.args[0], (Tensor, Unknown)) else None)
    dim = call.argument(1, "dim")
    made = None if dim is None else shape_items.size_in(shape, dim)
    return shape if dim is None else Plain(fresh_symbol(LENGTH) if made is None else (LENGTH, made), made)


def chosen(run: Run, mapping: Mapping, key: Value) -> Value | None:
    """A dict's value under a key that is not known: one option per key, told apart by the key."""
    options = [(k[1], v) for k, v in mapping.fields.items() if isinstance(k, tuple) and isinstance(v, Value)]
    if "rest" in mapping.fields or not options:
        return None
    result: Value = options[-1][1]
    for name, value in reversed(options[:-1]):
        result = join(value, result, ("==", symbol_of(key), ("const", name)))
    return run.resolve(result)


def item_of_instance(run: Run, value: Instance, key: Value | None = None, node: p.Node | None = None) -> Value:
    """One item of an object of a project class: what `__getitem__` or `__iter__` gives."""
    for method in ("__getitem__",) if key is not None else ("__iter__", "__getitem__"):
        found = value.cls.find(method)
        if found is not None and isinstance(found[0], FunctionValue) and node is not None:
            result = invocation.enter(run, found[0], Call((value, key) if key is not None else (value,), {}, node))
            return result if method == "__getitem__" else element_of(run, result)
    return Unknown(Flow(graph=None), held((value,)))
