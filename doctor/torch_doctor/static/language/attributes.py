"""What is found under a name on each sort of value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.language import files, invocation
from torch_doctor.static.measuring import making
from torch_doctor.static.tables import functions, layers, models
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.methods import ENGINE_METHODS, MODULE_METHODS
from torch_doctor.static.tables.sinks import BAR_METHODS
from torch_doctor.static.training import (
    cuts,
    devices,
    distributions,
    loading,
    modes,
    module_parts,
    outdated,
    pixels,
    places,
    plain_tensors,
)
from torch_doctor.static.values import (
    CPU,
    VERSION,
    Bound,
    ClassValue,
    Const,
    Content,
    Context,
    Distribution,
    Either,
    Fact,
    FunctionValue,
    Grads,
    Instance,
    Lib,
    Loader,
    Making,
    Mapping,
    Method,
    Module,
    Namespace,
    Number,
    Optimizer,
    Package,
    ParameterValue,
    Params,
    Partial,
    Plain,
    Sequence,
    Stream,
    Super,
    Tensor,
    Tool,
    Unknown,
    UnknownAttribute,
    Value,
    either,
    fresh_symbol,
    held,
    plain_from,
    unpacked,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor


def _of_either(run: Executor, value: Value, name: str, node: p.Node) -> Value:
    if not isinstance(value, Either):
        return run.attribute(value, name, node)
    options = [(facts, run.attribute(option, name, node)) for facts, option in value.options]
    first = options[0][1]
    if all(option is first or _equal(option, first) for _, option in options):
        return first
    return either(options)


def _equal(value: Value, other: Value) -> bool:
    """Whether both are one constant."""
    if not isinstance(value, Const) or not isinstance(other, Const):
        return False
    return type(value.value) is type(other.value) and value.value == other.value


def of_unknown(run: Executor, value: Value, name: str, node: p.Node) -> Value:
    """Take an attribute of something that is not known, or of a sort that has none."""
    if isinstance(value, Unknown):
        known = functions.ATTRIBUTES.get(name)
        if known is not None and known.result == "plain":
            read = Making(name, (value,)) if name in ("dtype", "device") else None
            return Plain((".", value.symbol, name), read)  # a shape or a dtype holds no tensor, whose ever it is
        if name == "data" and value.flow.forwards:
            return Unknown(value.flow.cut(), value.holds, place=value.place)
        flow = value.flow if known is not None else value.flow.part(name)
        return UnknownAttribute(value, name, flow, places.part(value.place))
    if isinstance(value, Method) and isinstance(value.of, (Instance, Module)):  # of a library's: it stays the same
        return Unknown(value.flow, held((value,)), (".", (".", ("object", value.of.id), value.name), name))
    return Unknown(value.flow, held((value,)))


def _of_plain(run: Executor, value: Plain, name: str, node: p.Node) -> Value:
    if run.load_reports and (meant := loading.meant(run, value, name, node)) is not value:
        return run.attribute(meant, name, node)
    return plain_from((value,), (".", value.symbol, name))


def _of_const(run: Executor, value: Const, name: str, _: p.Node) -> Value:
    return Method(value, name)


def _of_tensor(run: Executor, value: Tensor, name: str, node: p.Node) -> Value:
    known = functions.ATTRIBUTES.get(name)
    if known is None:
        return Method(value, name)
    outdated.of_tensor(run, name, node)
    if name == "is_cuda" and all(place.device == CPU for _, place in places.options(run, places.of(value))):
        return Const(value=False)
    if name == "requires_grad" and value.made is not None:
        return Const(value=False)
    if name == "requires_grad" and (value.flow.graph is True or value.flow.graph is run.grad is False):
        return Const(value.flow.graph)
    if known.result == "plain":
        return Plain(size=Making(name, (value,)) if name in ("shape", "dtype", "device") else None)
    if name == "grad":
        return Unknown(EMPTY)
    flow = value.flow if known.graph else cuts.cut(run, value.flow, value, name, node)
    return value.altered(flow=flow, kind=known.of(value.kind), meta=making(name, (value,)))


def _of_parameter(run: Executor, value: ParameterValue, name: str, node: p.Node) -> Value:
    if name == "grad":
        return Grads(frozenset((value.id,)))
    if name == "data":
        outdated.of_tensor(run, name, node)
        return Params(frozenset((value.id,)), single=True, cut=True)
    return _of_tensor(run, Tensor(value.flow), name, node) if name in functions.ATTRIBUTES else Method(value, name)


def _of_params(run: Executor, value: Params, name: str, node: p.Node) -> Value:
    if name == "grad":
        return Grads(value.modules)
    if name == "data":
        outdated.of_tensor(run, name, node)
        return Params(value.modules, whole=value.whole, bias=value.bias, single=value.single, cut=True)
    if name in ("is_cuda", "device") and places.stay(run, value.modules):
        return Const(value=False) if name == "is_cuda" else Plain((devices.DEVICE, CPU))
    if name == "dtype" or (name == "device" and not places.went(run, value.modules)):
        return Plain(size=Making(name, (value,)))
    known = functions.ATTRIBUTES.get(name)
    return Plain() if known is not None and known.result == "plain" else Method(value, name)


def _of_grads(run: Executor, value: Grads, name: str, node: p.Node) -> Value:
    outdated.of_tensor(run, name, node)
    return value if name == "data" else Method(value, name)


def _of_library(run: Executor, value: Lib, name: str, _: p.Node) -> Value:
    if name == "__version__":
        return Plain((VERSION, value.name))
    return Lib(f"{value.name}.{name}")


def _of_object(run: Executor, value: Value, name: str, _: p.Node) -> Value:
    return Method(value, name)


def _of_sequence(run: Executor, value: Sequence, name: str, node: p.Node) -> Value:
    data = unpacked(value)
    if data is not value:
        return data if name == "data" else Plain() if name.endswith(("sizes", "indices")) else Method(value, name)
    return _of_object(run, value, name, node)


def _of_optimizer(run: Executor, value: Optimizer, name: str, node: p.Node) -> Value:
    if name == "param_groups":
        group: Mapping = run.own(Mapping(run.site(node)))
        group.fields["key", "params"] = Params(value.modules, whole=value.whole)
        group.fields["rest"] = Plain()
        return run.own(Sequence("list", Content((), group)))
    if name in value.fields:
        found: Value = value.fields[name]
        return found
    if name in ("optimizer", "optim", "_optimizer"):
        return value  # a wrapper's way to what it wraps
    return Method(value, name) if name != "state" else Plain()


def _of_stream(run: Executor, value: Stream, name: str, node: p.Node) -> Value:
    return Method(value, name) if value.bar and name in BAR_METHODS else of_unknown(run, value, name, node)


def _of_loader(run: Executor, value: Loader, name: str, _: p.Node) -> Value:
    found = value.fields.get(name)
    return found if isinstance(found, Value) else Method(value, name)


def _of_tool(run: Executor, value: Tool, name: str, node: p.Node) -> Value:
    found = value.fields.get(name)
    return found if isinstance(found, Value) else pixels.held(run, value, name, node) or Method(value, name)


def _of_distribution(run: Executor, value: Distribution, name: str, node: p.Node) -> Value:
    return distributions.attribute(run, value, name) or _of_tool(run, value, name, node)


def _of_namespace(run: Executor, value: Namespace, name: str, _: p.Node) -> Value:
    found = files.namespace_of(run, value, name)
    return found if isinstance(found, Value) else Unknown()


def _of_class(run: Executor, value: ClassValue, name: str, _: p.Node) -> Value:
    if name == "__name__":
        return Const(value.name)
    found = value.find(name)
    if found is None:
        for base in value.mro():
            if isinstance(base, Lib):
                return Lib(f"{base.name}.{name}")
        return Unknown()
    attribute = found[0]
    if isinstance(attribute, FunctionValue) and attribute.style == "class":
        return Bound(attribute, value)
    return attribute


def _of_super(run: Executor, value: Super, name: str, node: p.Node) -> Value:
    thing = value.self
    cls = thing.cls if isinstance(thing, (Instance, Module)) else thing if isinstance(thing, ClassValue) else None
    if cls is None:
        return Unknown()
    # What comes after a library's class is taken for the library's.
    found = cls.find(name, after=value.cls) if isinstance(value.cls, ClassValue) else None
    if found is not None and isinstance(thing, Module) and _module_before(cls, found[1], value.cls):
        own = name == "__init__" or name in MODULE_METHODS
        found = None if own else found
    if found is not None:
        return _bound(run, found[0], thing, node)
    if isinstance(thing, Module):
        return Method(thing, f"super.{name}")
    return Method(thing, name)


def _module_before(cls: ClassValue, found: ClassValue, after: Value) -> bool:
    """Whether `nn.Module` itself stands before the class `found` in the order in which `super()` looks."""
    order = cls.mro()
    between = order[order.index(after) + 1 : order.index(found)] if after in order else ()
    return any(isinstance(base, Lib) and canonical(base.name) in layers.MODULE_BASES for base in between)


def _bound(run: Executor, attribute: Value, thing: Value, node: p.Node) -> Value:
    if isinstance(attribute, FunctionValue):
        if attribute.style == "static":
            return attribute
        if attribute.style == "property":
            return invocation.enter(run, attribute, (thing,), {}, node)
        if attribute.style == "class" and isinstance(thing, (Instance, Module)) and thing.cls is not None:
            return Bound(attribute, thing.cls)
        return Bound(attribute, thing)
    return attribute


def _of_instance(run: Executor, value: Instance, name: str, node: p.Node) -> Value:
    found = value.fields.get(name)
    if isinstance(found, Value):
        return run.resolve(found)
    inherited = value.cls.find(name)
    if inherited is not None:
        return _bound(run, inherited[0], value, node)
    if name == "__class__":
        return value.cls
    if name == "__dict__":
        return Plain()
    if value.cls.opaque_base() or value.cls.libraries():
        return Method(value, name)
    return Unknown(Flow(graph=None), held((value,)), (".", ("object", value.id), name))


def _of_module(run: Executor, value: Module, name: str, node: p.Node) -> Value:  # noqa: C901, PLR0911 - the ways to find it, in order
    if name == "module" and value.shell:
        inner = run.objects.get(value.id)
        return inner if isinstance(inner, Module) else value
    found = value.fields.get(name)
    if isinstance(found, ParameterValue) and found.fact(Fact.HOME) is not None:
        plain_tensors.read(run, found, node)
    if isinstance(found, Value):
        return run.resolve(found)
    if name == "training":
        mode = modes.current_mode(run, value)
        if value.cls is not None:
            run.heap.set(value.facts, Fact.READS_MODE, value=True)
        return Plain(("mode", value.id, fresh_symbol())) if mode is None else Const(mode)
    if value.cls is not None:
        inherited = value.cls.find(name)
        if inherited is not None:
            return _bound(run, inherited[0], value, node)
    if name == "__call__":
        return value
    if name in MODULE_METHODS or (name in ENGINE_METHODS and value.cls is None):
        return Method(value, name)
    if name == "module" and value.cls is None:
        return value  # the way to what DataParallel wraps
    if name in ("weight", "bias") and (value.table is not None or (value.cls is None and not value.layer)):
        known = value.table is not None  # else it stands for any of several
        return Params(frozenset((value.id,)), whole=known, bias=name != "weight", single=True)
    if name.startswith(("weight_", "bias_")) and value.table is not None and value.table.parameters:
        return Params(frozenset((value.id,)), bias=True, single=True)  # one of several, `weight_ih_l0`
    if name == "__class__":
        return value.cls or Unknown()
    content = module_parts.listed(value)
    if content is not None and name.isdigit() and int(name) < len(content.items):
        return content.items[int(name)]
    head = models.classifier_head(value.layer) if value.cls is None else None
    if value.cls is None and (not value.layer or (head is not None and head[0] == name)):
        return module_parts.part_of(run, value, name)
    if value.cls is not None and (value.cls.libraries() or value.cls.opaque_base()):
        return Method(value, name)
    return Unknown(Flow(graph=None), held((value,)), (".", ("object", value.id), name))


def _of_package(run: Executor, value: Package, name: str, _: p.Node) -> Value:
    inner = run.imports.find(value.path / "__init__.py", name, level=1)
    return files.imported(run, inner) if inner is not None else Unknown()


ATTRIBUTES: Final[dict[type[Value], Callable[[Executor, Any, str, p.Node], Value]]] = {
    Either: _of_either,
    Unknown: of_unknown,
    UnknownAttribute: of_unknown,
    Plain: _of_plain,
    Stream: _of_stream,
    Number: _of_plain,
    Const: _of_const,
    Tensor: _of_tensor,
    ParameterValue: _of_parameter,
    Params: _of_params,
    Grads: _of_grads,
    Lib: _of_library,
    Sequence: _of_sequence,
    Mapping: _of_object,
    Optimizer: _of_optimizer,
    Loader: _of_loader,
    Tool: _of_tool,
    Distribution: _of_distribution,
    Namespace: _of_namespace,
    Package: _of_package,
    ClassValue: _of_class,
    Super: _of_super,
    Instance: _of_instance,
    Module: _of_module,
    Context: _of_object,
    Partial: _of_object,
    FunctionValue: _of_object,
}
