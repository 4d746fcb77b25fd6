"""Attributes and items: what is found on each sort of value, and what assigning there does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.modules import Modules
from torch_doctor.static.tables import functions, layers, training
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    ClassValue,
    Const,
    Content,
    Context,
    Either,
    FunctionValue,
    Grads,
    Instance,
    Lib,
    Loader,
    Mapping,
    Method,
    Module,
    Namespace,
    Object,
    Optimizer,
    ParameterValue,
    Params,
    Partial,
    Plain,
    Sequence,
    Super,
    Tensor,
    Tool,
    Unknown,
    Value,
    fresh_symbol,
    held,
    join,
    summary,
)
from torch_doctor.trace import Backward, NotCalled, ZeroGrad
from torch_doctor.trace.words import Holding

if TYPE_CHECKING:
    from torch_doctor.static import program as p

MODULE_METHODS = frozenset(
    [
        "train",
        "eval",
        "parameters",
        "named_parameters",
        "modules",
        "named_modules",
        "children",
        "named_children",
        "buffers",
        "named_buffers",
        "state_dict",
        "load_state_dict",
        "zero_grad",
        "to",
        "cuda",
        "cpu",
        "half",
        "float",
        "double",
        "bfloat16",
        "type",
        "requires_grad_",
        "apply",
        "register_buffer",
        "register_parameter",
        "add_module",
        "register_module",
        "append",
        "extend",
        "insert",
        "items",
        "keys",
        "values",
        "forward",
        "share_memory",
        "compile",
        "register_forward_hook",
        "register_full_backward_hook",
        "get_submodule",
        "get_parameter",
        "update",
        "pop",
        "register_forward_pre_hook",
        "register_backward_hook",
        "no_sync",
    ]
)
OPTIMIZER_METHODS = frozenset(["step", "zero_grad", "state_dict", "load_state_dict", "add_param_group"])
_METHODS_OF = {
    "step": "optimizer",
    "zero_grad": "optimizer",
    "update": "scaler",
    "backward": "tensor",
    "train": "module",
    "eval": "module",
}


class UnknownAttribute(Unknown):
    """An attribute of something unknown: `name` of `of`."""

    __slots__ = ("name", "of")

    def __init__(self, of: Unknown, name: str) -> None:
        super().__init__(of.flow, of.holds, (".", of.symbol, name))
        self.of = of
        self.name = name


class Attributes(Modules):
    """The part of the executor that looks into objects."""

    # --- reading ---

    def attribute(self, value: Value, name: str, node: p.Node) -> Value:
        """Take an attribute."""
        found: Value = _ATTRIBUTES.get(value.__class__, Attributes._of_unknown)(self, self.resolve(value), name, node)
        return found

    def _of_either(self, value: Value, name: str, node: p.Node) -> Value:
        if not isinstance(value, Either):
            return self.attribute(value, name, node)
        options = [(facts, self.attribute(option, name, node)) for facts, option in value.options]
        first = options[0][1]
        if all(option is first for _, option in options):
            return first
        return Either(tuple(options))

    def _of_unknown(self, value: Value, name: str, node: p.Node) -> Value:
        if isinstance(value, Unknown):
            return UnknownAttribute(value, name)
        return Unknown(value.flow, held((value,)))

    def _of_plain(self, value: Plain, name: str, _: p.Node) -> Value:
        return Plain((".", value.symbol, name))

    def _of_const(self, value: Const, name: str, _: p.Node) -> Value:
        return Method(value, name)

    def _of_tensor(self, value: Tensor, name: str, _: p.Node) -> Value:
        known = functions.ATTRIBUTES.get(name)
        if known is None:
            return Method(value, name)
        if known.result == "plain":
            return Plain()
        if name == "grad":
            return Unknown(EMPTY)
        return Tensor(
            value.flow if known.graph else value.flow.cut(),
            known.of(value.kind),
            value.made_at,
            value.made_by,
            value.trail,
            value.scalar,
        )

    def _of_parameter(self, value: ParameterValue, name: str, node: p.Node) -> Value:
        if name == "grad":
            return Grads(frozenset((value.id,)))
        if name == "data":
            return Params(frozenset((value.id,)))
        return self._of_tensor(Tensor(value.flow), name, node) if name in functions.ATTRIBUTES else Method(value, name)

    def _of_params(self, value: Params, name: str, _: p.Node) -> Value:
        if name == "grad":
            return Grads(value.modules)
        if name == "data":
            return value
        known = functions.ATTRIBUTES.get(name)
        return Plain() if known is not None and known.result == "plain" else Method(value, name)

    def _of_grads(self, value: Grads, name: str, _: p.Node) -> Value:
        return value if name == "data" else Method(value, name)

    def _of_library(self, value: Lib, name: str, _: p.Node) -> Value:
        return Lib(f"{value.name}.{name}")

    def _of_object(self, value: Value, name: str, _: p.Node) -> Value:
        return Method(value, name)

    def _of_optimizer(self, value: Optimizer, name: str, node: p.Node) -> Value:
        if name == "param_groups":
            group: Mapping = self.own(Mapping(self.site(node)))
            group.fields["key", "params"] = Params(value.modules, whole=value.whole)
            group.fields["rest"] = Plain()
            return self.own(Sequence("list", Content((), group)))
        if name in value.fields:
            found: Value = value.fields[name]
            return found
        if isinstance(value.fields.get("#instance"), Instance) and name not in OPTIMIZER_METHODS:
            return self.attribute(value.fields["#instance"], name, node)
        if name in ("optimizer", "optim", "_optimizer"):
            return value  # a wrapper's way to what it wraps
        return Method(value, name) if name != "state" else Plain()

    def _of_loader(self, value: Loader, name: str, _: p.Node) -> Value:
        found = value.fields.get(name)
        return found if isinstance(found, Value) else Method(value, name)

    def _of_tool(self, value: Tool, name: str, _: p.Node) -> Value:
        found = value.fields.get(name)
        return found if isinstance(found, Value) else Method(value, name)

    def _of_namespace(self, value: Namespace, name: str, _: p.Node) -> Value:
        found = self.namespace_of(value, name)
        return found if isinstance(found, Value) else Unknown()

    def _of_class(self, value: ClassValue, name: str, _: p.Node) -> Value:
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

    def _of_super(self, value: Super, name: str, node: p.Node) -> Value:
        thing = value.self
        cls = thing.cls if isinstance(thing, (Instance, Module)) else thing if isinstance(thing, ClassValue) else None
        if cls is None:
            return Unknown()
        found = cls.find(name, after=value.cls)
        if found is not None:
            return self._bound(found[0], thing, node)
        if isinstance(thing, Module):
            return Method(thing, f"super.{name}")
        return Method(thing, name)

    def _bound(self, attribute: Value, thing: Value, node: p.Node) -> Value:
        if isinstance(attribute, FunctionValue):
            if attribute.style == "static":
                return attribute
            if attribute.style == "property":
                return self.enter(attribute, (thing,), {}, node)
            if attribute.style == "class" and isinstance(thing, (Instance, Module)) and thing.cls is not None:
                return Bound(attribute, thing.cls)
            return Bound(attribute, thing)
        return attribute

    def _of_instance(self, value: Instance, name: str, node: p.Node) -> Value:
        found = value.fields.get(name)
        if isinstance(found, Value):
            return self.resolve(found)
        inherited = value.cls.find(name)
        if inherited is not None:
            return self._bound(inherited[0], value, node)
        if name == "__class__":
            return value.cls
        if name == "__dict__":
            return Plain()
        if value.cls.opaque_base() or value.cls.libraries():
            return Method(value, name)
        return Unknown(Flow(graph=None), held((value,)), (".", ("object", value.id), name))

    def _of_module(self, value: Module, name: str, node: p.Node) -> Value:  # noqa: C901, PLR0911 - the ways to find it, in order
        found = value.fields.get(name)
        if isinstance(found, Value):
            return self.resolve(found)
        if name == "training":
            mode = self.current_mode(value)
            if value.cls is not None:
                self.heap.set(value.fields, "#reads_mode", value=True)
            return Plain(("mode", value.id, fresh_symbol())) if mode is None else Const(mode)
        if value.cls is not None:
            inherited = value.cls.find(name)
            if inherited is not None:
                return self._bound(inherited[0], value, node)
        if name in MODULE_METHODS:
            return Method(value, name)
        if name == "module" and value.cls is None:
            return value  # the way to what DataParallel wraps
        if name in ("weight", "bias") and value.table is not None:
            return Params(frozenset((value.id,)))
        if name == "__class__":
            return value.cls or Unknown()
        content = self.listed(value)
        if content is not None and name.isdigit() and int(name) < len(content.items):
            return content.items[int(name)]
        if value.cls is None and not value.layer:
            return self.part_of(value, name)
        if value.cls is not None and (value.cls.libraries() or value.cls.opaque_base()):
            return Method(value, name)
        return Unknown(Flow(graph=None), held((value,)), (".", ("object", value.id), name))

    def part_of(self, module: Module, name: str) -> Value:
        """An attribute of a module that is known by its role only: a part of it, or a method."""
        part: Module = self.own(Module(module.born, name=name))
        part.fields["#mode"] = module.fields.get("#mode", (0, None))
        part.fields["#registered"] = True
        module.fields[name] = part  # not logged: it has always been there
        return part

    def item_of_instance(self, value: Instance, key: Value | None = None, node: p.Node | None = None) -> Value:
        """One item of an object of a project class: what `__getitem__` or `__iter__` gives."""
        for method in ("__getitem__",) if key is not None else ("__iter__", "__getitem__"):
            found = value.cls.find(method)
            if found is not None and isinstance(found[0], FunctionValue) and node is not None:
                result = self.enter(found[0], (value, key) if key is not None else (value,), {}, node)
                return result if method == "__getitem__" else self.element(result)
        return Unknown(Flow(graph=None), held((value,)))

    # --- writing ---

    def set_attribute(self, value: Value, name: str, new: Value, node: p.Node, target: p.Attribute) -> None:
        """Assign an attribute."""
        if isinstance(value, Module):
            if name == "training":
                self.heap.set(value.fields, "#mode", (next(self.stamps), new.value if isinstance(new, Const) else None))
            elif name == "requires_grad":
                pass  # an attribute that freezes nothing
            else:
                self.set_module_attribute(value, name, new, node)
        elif isinstance(value, (Params, ParameterValue)):
            self._set_on_parameters(value, name, new, node)
        elif isinstance(value, (Instance, Tool, Loader, ClassValue, Namespace, Optimizer)):
            self.heap.set(value.fields, name, new)
        elif isinstance(value, Either):
            for _, option in value.options:
                self.set_attribute(option, name, new, node, target)
        elif name == "requires_grad" and isinstance(value, (Tensor, Unknown)) and isinstance(new, Const) and new.value:
            self.make_leaf(value, target.value)

    def make_leaf(self, value: Value, where: p.Expr) -> Value:
        """`x.requires_grad = True`: gradients flow to this tensor from now on."""
        if value.flow.graph is True:
            return value
        leaf: ParameterValue = self.own(ParameterValue(None, declared=False, flow=value.flow))
        self.bind(where, leaf, where)
        return leaf

    def _set_on_parameters(self, value: Params | ParameterValue, name: str, new: Value, node: p.Node) -> None:
        modules = value.modules if isinstance(value, Params) else frozenset((value.id,))
        if name == "requires_grad":
            frozen = not new.value if isinstance(new, Const) else None
            whole = isinstance(value, ParameterValue) or value.whole
            for number in modules:
                thing = self.objects.get(number)
                if thing is not None:
                    self.heap.set(thing.fields, "#frozen", frozen if whole else None)
        elif name == "grad" and isinstance(new, Const) and new.value is None:
            self.emit(ZeroGrad, node, target=0, name=self.text(node), modules=modules, whole=True)
        elif name == "grad":
            self.emit(ZeroGrad, node, target=0, name=self.text(node), modules=modules, whole=True)
            self.emit(
                Backward,
                node,
                name=self.text(node),
                through="assigned",
                loss=self.fact(new),
                modules=modules,
                whole=True,
                forwards=new.flow.forwards,
            )
        elif name == "data":
            self.update_by_hand(modules, new, node)

    def set_item(self, holder: Value, key: Value, new: Value, node: p.Node, target: p.Index) -> None:
        """Assign an item."""
        key = self.resolve(key)
        if isinstance(holder, Mapping):
            if isinstance(key, Const) and _hashable(key.value):
                self.heap.set(holder.fields, ("key", key.value), new)
                return
            old = holder.fields.get("rest")
            carries = old.flow.kept if isinstance(old, Value) else frozenset[int]()
            kept = self.keep(new, Holding.STORED, self.text(target), carries, node)
            self.heap.set(holder.fields, "rest", kept if old is None else join(old, kept))
            self._note(holder, node)
        elif isinstance(holder, Sequence):
            content = holder.content
            if (
                isinstance(key, Const)
                and isinstance(key.value, int)
                and -len(content.items) <= key.value < len(content.items)
            ):
                items = list(content.items)
                items[key.value] = new
                self.heap.set(holder.fields, "items", Content(tuple(items), content.rest))
            else:
                everything = (*content.all(), new)
                self.heap.set(holder.fields, "items", Content(content.items, summary(everything)))
            self._note(holder, node)
        elif isinstance(holder, Module):
            self.set_module_attribute(holder, str(key.value) if isinstance(key, Const) else "?", new, node)
            content_ = self.listed(holder)
            if content_ is not None:
                self.add_to_list(holder, (new,), node)
        elif isinstance(holder, Instance):
            found = holder.cls.find("__setitem__")
            if found is not None and isinstance(found[0], FunctionValue):
                self.enter(found[0], (holder, key, new), {}, node)

    def _note(self, holder: Sequence | Mapping, node: p.Node) -> None:
        site = self.site(node)
        if site not in holder.sites:
            holder.sites.append(site)

    def update_by_hand(self, modules: frozenset[int], new: Value, node: p.Node) -> None:
        """`p.data = ...`."""
        raise NotImplementedError

    # --- naming without calling ---

    def mentioned(self, value: Value, node: p.Expr) -> None:
        """A value was named and nothing was done with it: a method that was meant to be called is an event."""
        text = self.text(node)
        if isinstance(value, Method) and value.name in _METHODS_OF:
            of = value.of
            if isinstance(of, Optimizer):
                kind = "optimizer"
            elif isinstance(of, Module):
                kind = "module"
            elif isinstance(of, Tool) and "scheduler" in of.name:
                kind = "scheduler"
            elif isinstance(of, Tool) and of.name in training.SCALERS:
                kind = "scaler"
            elif isinstance(of, Tensor):
                kind = "tensor"
            else:
                return
            if kind == "tensor" and value.name != "backward":
                return
            target = of.id if isinstance(of, Object) else 0
            self.emit(NotCalled, node, name=text, method=value.name, of=kind, target=target)
        elif isinstance(value, UnknownAttribute) and value.name == "backward" and value.flow.forwards:
            self.emit(NotCalled, node, name=text, method="backward", of="tensor")
        elif isinstance(value, Lib):
            name = layers.canonical(value.name)
            if self.grad_context(name) is not None and name != "torch.set_grad_enabled":
                self.emit(NotCalled, node, name=text, method=name.rpartition(".")[2], of="torch")


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


_ATTRIBUTES: dict[type[Value], Any] = {
    Either: Attributes._of_either,
    Unknown: Attributes._of_unknown,
    UnknownAttribute: Attributes._of_unknown,
    Plain: Attributes._of_plain,
    Const: Attributes._of_const,
    Tensor: Attributes._of_tensor,
    ParameterValue: Attributes._of_parameter,
    Params: Attributes._of_params,
    Grads: Attributes._of_grads,
    Lib: Attributes._of_library,
    Sequence: Attributes._of_object,
    Mapping: Attributes._of_object,
    Optimizer: Attributes._of_optimizer,
    Loader: Attributes._of_loader,
    Tool: Attributes._of_tool,
    Namespace: Attributes._of_namespace,
    ClassValue: Attributes._of_class,
    Super: Attributes._of_super,
    Instance: Attributes._of_instance,
    Module: Attributes._of_module,
    Context: Attributes._of_object,
    Partial: Attributes._of_object,
    FunctionValue: Attributes._of_object,
}

__all__ = ["NOTHING", "Attributes", "UnknownAttribute"]
