"""What is found under a name on each sort of value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static.flow import EMPTY
from torch_doctor.static.language import defaults, files, imported_files, narrowing, object_attributes, settings
from torch_doctor.static.measuring import making, measured
from torch_doctor.static.tables import functions
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.data import NEXT_METHODS
from torch_doctor.static.tables.sinks import BAR_METHODS
from torch_doctor.static.training import cuts, pixels, places
from torch_doctor.static.training.checkpoint import loading
from torch_doctor.static.training.computing import distributions
from torch_doctor.static.training.data import arrays
from torch_doctor.static.training.device import devices
from torch_doctor.static.training.loss import language_models
from torch_doctor.static.values import (
    CPU,
    VERSION,
    ClassValue,
    Const,
    Content,
    Context,
    Default,
    Distribution,
    Either,
    FunctionValue,
    Globals,
    Grads,
    Instance,
    Lib,
    Loader,
    Making,
    Mapping,
    Method,
    Module,
    Namespace,
    NamespacePackage,
    Number,
    OneOfTexts,
    Optimizer,
    ParameterValue,
    Params,
    Partial,
    Plain,
    Sequence,
    Settings,
    Stream,
    Super,
    Tensor,
    Tool,
    Unknown,
    UnknownAttribute,
    Value,
    either,
    held,
    plain_from,
    texts,
    unpacked,
)
from torch_doctor.static.values.symbols import DEVICE, WHEREABOUTS, fresh_symbol

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def _of_either(run: Run, value: Value, name: str, node: p.Node) -> Value:
    if not isinstance(value, Either):
        return run.attribute(value, name, node)
    options = []
    for facts, option in value.options:
        with run.override(assumed={**run.assumed, **dict(facts)}):
            options.append((facts, run.attribute(option, name, node)))
    first = options[0][1]
    if all(option is first or _equal(option, first) for _, option in options):
        return first
    return either(options)


def _equal(value: Value, other: Value) -> bool:
    """Whether both are one constant."""
    if not isinstance(value, Const) or not isinstance(other, Const):
        return False
    return type(value.value) is type(other.value) and value.value == other.value


def of_unknown(run: Run, value: Value, name: str, node: p.Node) -> Value:
    """Take an attribute of something that is not known, or of a sort that has none."""
    if isinstance(value, Unknown):
        part = language_models.part(run, value, name)
        if part is not None:
            return part
        known = functions.ATTRIBUTES.get(name)
        if name == "requires_grad" and value.flow.forwards and value.flow.graph is run.grad is False:
            return Const(value=False)
        if known is not None and known.result == "plain":
            read = Making(name, (value,)) if name in ("shape", "dtype", "device") else None
            return Plain((".", value.symbol, name), read)  # a shape or a dtype holds no tensor, whose ever it is
        if name == "data" and value.flow.forwards:
            return Unknown(value.flow.cut(), value.holds, origin=value.origin)
        if name == "grad":  # has no graph of its own, whatever it is the gradient of
            return UnknownAttribute(value, name, EMPTY)
        flow = language_models.taken(run, value, name, value.flow if known is not None else value.flow.part(name))
        return UnknownAttribute(value, name, flow, places.part(value.origin))
    if isinstance(value, Method) and isinstance(value.of, (Instance, Module)):  # of a library's: it stays the same
        return Unknown(value.flow, held((value,)), (".", (".", ("object", value.of.id), value.name), name))
    return Unknown(value.flow, held((value,)))


def _of_plain(run: Run, value: Plain, name: str, node: p.Node) -> Value:
    if run.of(loading.Reports).reports and (meant := loading.meant(run, value, name, node)) is not value:
        return run.attribute(meant, name, node)
    if name == "parent" and texts.is_own(value.symbol):
        return texts.of((texts.FOLDER,))
    symbol = (".", value.symbol, name)
    return defaults.setting(run, symbol) or plain_from((value,), symbol, size=arrays.attribute(value, name))


def _of_settings(run: Run, value: Settings, name: str, node: p.Node) -> Value:
    return settings.kept(value, name) or _of_plain(run, value.of, name, node)


def _of_const(run: Run, value: Const | OneOfTexts, name: str, _: p.Node) -> Value:
    return Method(value, name)


def _of_tensor(run: Run, value: Tensor, name: str, node: p.Node) -> Value:
    known = functions.ATTRIBUTES.get(name)
    if known is None:
        return Method(value, name)
    if name == "is_cuda" and all(place.device == CPU for _, place in places.options(run, places.of(value))):
        return Const(value=False)
    if name == "requires_grad" and value.origin.fresh and value.flow.graph is not True:
        return Const(value=False)
    if name == "requires_grad" and (value.flow.graph is True or value.flow.graph is run.grad is False):
        return Const(value.flow.graph)
    if name == "ndim" and measured(value).shape == ():
        return Const(0)
    if known.result == "plain":
        symbol = fresh_symbol(WHEREABOUTS) if name == "device" or name in devices.TESTS else None
        return Plain(symbol, Making(name, (value,)) if name in ("shape", "dtype", "device") else None)
    if name == "grad":
        return Unknown(EMPTY)
    flow = value.flow if known.graph else cuts.cut(run, value.flow, value, name, node)
    return value.altered(flow=flow, kind=known.of(value.kind), meta=making(name, (value,)))


def _of_parameter(run: Run, value: ParameterValue, name: str, node: p.Node) -> Value:
    if name == "grad":
        return Grads(frozenset((value.id,)))
    if name == "data":
        return Params(frozenset((value.id,)), single=True, cut=True)
    if name not in functions.ATTRIBUTES:
        return Method(value, name)
    return _of_tensor(run, Tensor(value.flow, meta=making("parameter", (value,))), name, node)


def _of_params(run: Run, value: Params, name: str, node: p.Node) -> Value:
    if name == "grad":
        return Grads(value.modules, whole=value.whole and not value.among)
    if name == "data":
        return Params(value.modules, whole=value.whole, bias=value.bias, single=value.single, cut=True)
    if name in ("is_cuda", "device") and places.stay(run, value.modules):
        return Const(value=False) if name == "is_cuda" else Plain((DEVICE, CPU))
    if name == "dtype" or (name == "device" and not places.went(run, value.modules)):
        return Plain(size=Making(name, (value,)))
    known = functions.ATTRIBUTES.get(name)
    return Plain() if known is not None and known.result == "plain" else Method(value, name)


def _of_grads(run: Run, value: Grads, name: str, node: p.Node) -> Value:
    return value if name == "data" else Method(value, name)


def _of_library(run: Run, value: Lib, name: str, _: p.Node) -> Value:
    if name == "__name__" and narrowing.is_known(canonical(value.name)):
        return Const(canonical(value.name).rpartition(".")[2])
    if name == "__version__":
        return Plain((VERSION, value.name))
    return Lib(f"{value.name}.{name}")


def _of_object(run: Run, value: Value, name: str, _: p.Node) -> Value:
    return Method(value, name)


def _of_mapping(run: Run, value: Mapping, name: str, _: p.Node) -> Value:
    """An attribute of a dict: some have their items as attributes, too."""
    found = value.fields.get(("key", name))
    return run.resolve(found) if isinstance(found, Value) and not hasattr(dict, name) else Method(value, name)


def _of_sequence(run: Run, value: Sequence, name: str, node: p.Node) -> Value:
    data = unpacked(value)
    if data is not value:
        return data if name == "data" else Plain() if name.endswith(("sizes", "indices")) else Method(value, name)
    if name in value.names:
        return value.content.all()[value.names.index(name)]
    return _of_object(run, value, name, node)


def _of_optimizer(run: Run, value: Optimizer, name: str, node: p.Node) -> Value:
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


def _of_stream(run: Run, value: Stream, name: str, node: p.Node) -> Value:
    known = name in NEXT_METHODS or (value.bar and name in BAR_METHODS)
    return Method(value, name) if known else of_unknown(run, value, name, node)


def _of_loader(run: Run, value: Loader, name: str, _: p.Node) -> Value:
    found = value.fields.get(name)
    return found if isinstance(found, Value) else Method(value, name)


def _of_tool(run: Run, value: Tool, name: str, node: p.Node) -> Value:
    found = value.fields.get(name)
    return found if isinstance(found, Value) else pixels.held(run, value, name, node) or Method(value, name)


def _of_distribution(run: Run, value: Distribution, name: str, node: p.Node) -> Value:
    return distributions.attribute(run, value, name) or _of_tool(run, value, name, node)


def _of_namespace(run: Run, value: Namespace, name: str, _: p.Node) -> Value:
    if name == "__dict__":
        return Globals(value)
    found = files.namespace_of(run, value, name)
    return found if isinstance(found, Value) else Unknown()


def _of_package(run: Run, value: NamespacePackage, name: str, _: p.Node) -> Value:
    inner = run.imports.find(value.path, f"{value.path.name}.{name}", level=1)  # the folder asks: it was read
    return imported_files.imported(run, inner) if inner is not None else Unknown()


dispatch.ATTRIBUTES.update(
    {
        Value: of_unknown,
        Either: _of_either,
        Unknown: of_unknown,
        UnknownAttribute: of_unknown,
        Plain: _of_plain,
        OneOfTexts: _of_const,
        Settings: _of_settings,
        Stream: _of_stream,
        Number: _of_plain,
        Const: _of_const,
        Default: _of_const,
        Tensor: _of_tensor,
        ParameterValue: _of_parameter,
        Params: _of_params,
        Grads: _of_grads,
        Lib: _of_library,
        Sequence: _of_sequence,
        Mapping: _of_mapping,
        Optimizer: _of_optimizer,
        Loader: _of_loader,
        Tool: _of_tool,
        Distribution: _of_distribution,
        Namespace: _of_namespace,
        NamespacePackage: _of_package,
        Globals: _of_object,
        ClassValue: object_attributes.of_class,
        Super: object_attributes.of_super,
        Instance: object_attributes.of_instance,
        Module: object_attributes.of_module,
        Context: _of_object,
        Partial: _of_object,
        FunctionValue: _of_object,
    }
)
