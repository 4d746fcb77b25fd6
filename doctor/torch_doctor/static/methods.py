"""Methods of tensors, parameters, optimizers, modules, containers and library objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.attributes import MODULE_METHODS, UnknownAttribute
from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.roles import Roles
from torch_doctor.static.tables import functions, layers, libraries, training
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Const,
    Content,
    Either,
    FunctionValue,
    Grads,
    Instance,
    Loader,
    Mapping,
    Method,
    Module,
    Optimizer,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Spread,
    Stream,
    Tensor,
    Tool,
    Unknown,
    Value,
    held,
    join,
    summary,
)
from torch_doctor.trace import (
    Backward,
    Clipped,
    Kind,
    Loaded,
    Logged,
    Moved,
    ScalerUpdated,
    SchedulerStepped,
    Stepped,
    TensorFact,
    Unscaled,
    ZeroGrad,
)
from torch_doctor.trace.words import Holding

if TYPE_CHECKING:
    from torch_doctor.static.calls import Args, Keywords

_MOVES = frozenset(["to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "share_memory", "xpu", "mps"])
_RECEIVERS = (Tensor, ParameterValue, Params, Grads)
MADE_OF_GRADIENTS = "gradient"
"""`made_by` of a tensor that was computed from gradients."""


class Methods(Roles):
    """The part of the executor that knows methods."""

    def method(self, of: Value, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:  # noqa: C901, PLR0911, PLR0912 - one line per sort of receiver
        """Call a method of something whose class is not the project's."""
        if isinstance(of, Either):
            return summary(self.method(option, name, args, keywords, node, spelling) for _, option in of.options)
        receiver = spelling.rpartition(".")[0] or spelling
        if isinstance(of, Optimizer):
            return self._optimizer(of, name, args, keywords, node, receiver)
        if isinstance(of, Module):
            return self._module(of, name, args, keywords, node, receiver)
        if isinstance(of, (Tensor, ParameterValue)):
            return self.tensor_method(of, name, args, keywords, node, receiver)
        if isinstance(of, Params):
            return self._params(of, name, args, keywords, node)
        if isinstance(of, Grads):
            return self._grads(of, name, args, node, receiver)
        if isinstance(of, Sequence):
            return self._sequence(of, name, args, keywords, node, receiver)
        if isinstance(of, Mapping):
            return self._mapping(of, name, args, keywords, node)
        if isinstance(of, Tool):
            return self.tool_method(of, name, args, keywords, node, receiver)
        if isinstance(of, (Const, Plain)):
            return Plain()
        if isinstance(of, Loader):
            return self.element(of) if name in ("__next__", "next") else Plain() if name == "__len__" else Unknown()
        if isinstance(of, Instance):
            return self._inherited(of, name, args, keywords, node, spelling)
        return self.opaque(Method(of, name), args, keywords, node, spelling)

    def _inherited(self, of: Instance, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str) -> Value:
        if name == "__init__":
            return NOTHING
        return self.opaque(Method(of, name), args, keywords, node, spelling)

    # --- optimizers ---

    def _optimizer(
        self, of: Optimizer, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
    ) -> Value:
        if name == "step":
            closure = args[0] if args else keywords.get("closure", NOTHING)
            called: Value = NOTHING
            run = isinstance(closure, (FunctionValue, Bound))
            if run:
                called = self.call(closure, (), {}, node)
            self.stepped(of, node, receiver, closure=run)
            return called
        if name == "zero_grad":
            self.emit(ZeroGrad, node, target=of.id, name=receiver, modules=of.modules, whole=of.whole)
            return NOTHING
        if name == "add_param_group":
            modules, whole = self.parameters_in(args)
            of.modules |= modules
            of.whole = of.whole and whole
            return NOTHING
        if name == "state_dict":
            return self._state_dict(node)
        if name in ("load_state_dict", "train", "eval"):
            return NOTHING
        if name == "backward":  # a wrapper that runs it: optimizer.backward(loss)
            for value in args[:1]:
                self.backward(value, node, self.text(node), through=name, keywords={})
            return NOTHING
        return self.opaque(Method(of, name), args, keywords, node, receiver)

    def stepped(self, of: Optimizer, node: p.Node, name: str, **more: bool) -> None:
        """Write that an optimizer stepped."""
        self.emit(Stepped, node, optimizer=of.id, name=name, modules=of.modules, whole=of.whole, **more)

    def parameters_in(self, values: Any) -> tuple[frozenset[int], bool]:  # noqa: ANN401 - any iterable of values
        """The owners of the parameters that lie in these values, and whether these are all."""
        found: set[int] = set()
        whole = True
        for value in values:
            value = self.resolve(value)  # noqa: PLW2901 - the same value, decided
            if isinstance(value, Params):
                found |= value.modules
                whole &= value.whole
            elif isinstance(value, Module):
                found |= self.inside(value).owners
            elif isinstance(value, ParameterValue):
                found.add(value.id)
            elif isinstance(value, (Sequence, Mapping, Stream, Either, Spread)):
                parts: Any = (
                    value.content.all()
                    if isinstance(value, (Sequence, Spread))
                    else value.values()
                    if isinstance(value, Mapping)
                    else [value.item]
                    if isinstance(value, Stream)
                    else [option for _, option in value.options]
                )
                inner, all_ = self.parameters_in(parts)
                found |= inner
                whole &= all_ and not isinstance(value, Either)
            elif isinstance(value, Unknown):
                found |= {n for n in value.holds if isinstance(self.objects.get(n), (Module, ParameterValue))}
                whole = False
        return self.with_parts(frozenset(found)), whole

    # --- modules ---

    def _module(self, of: Module, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str) -> Value:  # noqa: C901, PLR0911, PLR0912 - one branch per method
        if name.startswith("super."):
            return self._of_base(of, name.removeprefix("super."), args, keywords, node, receiver)
        if name in ("eval", "train"):
            flag = args[0] if args else keywords.get("mode", Const(value=True))
            mode = False if name == "eval" else bool(flag.value) if isinstance(flag, Const) else None
            self.set_mode(of, mode, node, receiver)
            return of
        if name in ("parameters", "named_parameters"):
            return Params(self.inside(of).owners, whole=True, named=name.startswith("named"))
        if name == "zero_grad":
            self.emit(ZeroGrad, node, target=of.id, name=receiver, modules=self.inside(of).owners, whole=True)
            return NOTHING
        if name == "requires_grad_":
            frozen = isinstance(args[0], Const) and not args[0].value if args else False
            for number in self.inside(of).owners:
                thing = self.objects.get(number)
                if thing is not None:
                    self.heap.set(thing.fields, "#frozen", frozen)
            return of
        if name in _MOVES or name in ("share_memory", "compile", "to_empty", "set_swish"):
            self.emit(Moved, node, module=of.id, name=receiver, device="")
            return of
        if name == "state_dict":
            return self._state_dict(node)
        if name == "load_state_dict":
            self.emit(Loaded, node, module=of.id, name=receiver)
            return NOTHING
        if name in ("add_module", "register_module") and len(args) > 1:
            key = args[0]
            self.set_module_attribute(
                of, str(key.value) if isinstance(key, Const) else f"?{len(of.fields)}", args[1], node
            )
            return NOTHING
        if name == "register_parameter" and len(args) > 1:
            self.set_module_attribute(of, str(args[0].value) if isinstance(args[0], Const) else "?", args[1], node)
            return NOTHING
        if name == "register_buffer" and len(args) > 1 and isinstance(args[0], Const):
            self.heap.set(of.fields, str(args[0].value), args[1])
            return NOTHING
        if name in ("append", "insert"):
            self.add_to_list(of, args[-1:], node)
            return of
        if name == "extend" and args:
            content = self.content(args[0])
            self.add_to_list(of, content.all(), node)
            return of
        if name == "update" and args and isinstance(args[0], Mapping):
            self.add_to_list(of, args[0].values(), node)
            return NOTHING
        if name in ("children", "modules", "named_children", "named_modules", "items", "values", "keys"):
            return self._walked(of, name)
        if name == "forward":
            return self.forward(of, args, keywords, node, receiver)
        if name == "apply":
            if args:
                self.call_back(args[0], node)
            return of
        if name in ("no_sync", "summon_full_params"):
            return Unknown()
        if name in MODULE_METHODS or name.startswith("register_"):
            return Unknown()
        owned = self.owned_method(of, name, args, keywords, node, receiver)
        if owned is not None:
            return owned
        return self.opaque(Method(of, name), args, keywords, node, f"{receiver}.{name}")

    def _of_base(self, of: Module, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str) -> Value:
        """`super().method(...)` where the next class is a library's."""
        if name == "__init__":
            self.heap.set(of.fields, "#initialised", value=True)
            if of.layer in ("torch.nn.Sequential", "torch.nn.ModuleList"):
                self.add_to_list(
                    of,
                    tuple(
                        i
                        for a in args
                        for i in (
                            a.content.all()
                            if isinstance(a, Spread)
                            else self.content(a).all()
                            if isinstance(a, Sequence)
                            else (a,)
                        )
                    ),
                    node,
                )
            return NOTHING
        if name in {"forward", "__call__"}:
            if of.layer == "torch.nn.Sequential" and self.listed(of) is not None:
                return self._chained(of, self.listed(of) or Content(), args, keywords, node)
            if of.table is not None:
                return self._layer_output(of, of.table, args, keywords, node)
            flow = blend(value.flow for value in (*args, *keywords.values()))
            return Unknown(
                Flow(None, flow.forwards, flow.graph_forwards, flow.kept, flow.modules, flow.source, flow.loader)
            )
        if name in ("train", "eval") and of.cls is not None:
            flag = args[0] if args else keywords.get("mode", Const(value=True))
            mode = False if name == "eval" else bool(flag.value) if isinstance(flag, Const) else None
            self.set_mode(of, mode, node, receiver)
            return of
        if name == "__setattr__" and len(args) > 1 and isinstance(args[0], Const):
            self.set_module_attribute(of, str(args[0].value), args[1], node)
            return NOTHING
        return self._module(of, name, args, keywords, node, receiver)

    def _walked(self, of: Module, name: str) -> Value:
        """`children()`, `modules()` and their named forms."""
        inside = self.inside(of).parts
        if name in ("modules", "named_modules"):
            found: list[Value] = list(inside)
        else:
            content = self.listed(of)
            found = (
                list(content.all())
                if content
                else [
                    value
                    for key, value in of.fields.items()
                    if isinstance(key, str) and key[0] != "#" and isinstance(value, Module)
                ]
            )
        if name == "keys":
            return Plain()
        opaque = of.cls is None and not of.layer
        exact = len(found) <= 8 and not opaque and name not in ("modules", "named_modules")  # noqa: PLR2004 - as loops unroll
        one: Value = summary(found) if found and not opaque else self.part_of(of, "?") if opaque else Unknown()
        if isinstance(one, Unknown) and found:
            one = self.part_of(of, "?")
        if name.startswith("named") or name == "items":
            if exact:
                return Sequence("list", Content(tuple(Sequence("tuple", Content((Plain(), item))) for item in found)))
            return Sequence("list", Content((), Sequence("tuple", Content((Plain(), one)))))
        return Sequence("list", Content(tuple(found)) if exact else Content((), one))

    def _state_dict(self, node: p.Node) -> Value:
        mapping: Mapping = self.own(Mapping(self.site(node)))
        mapping.fields["rest"] = Tensor()
        return mapping

    # --- tensors ---

    def tensor_method(self, of: Value, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str) -> Value:
        """A method of a tensor, or of something that carries one."""
        if name == "backward":
            self.backward(of, node, receiver, through="backward", keywords=keywords)
            return NOTHING
        if name in ("requires_grad_", "retain_grad"):
            if name == "requires_grad_" and isinstance(of, Tensor) and of.flow.graph is False:
                return self.own(ParameterValue(self.site(node), declared=False, flow=of.flow))
            return of
        if isinstance(of, ParameterValue):
            if name.endswith("_") and not name.startswith("_"):
                self.changed_by_hand(frozenset((of.id,)), args, node)
                return of
            if name in _MOVES:
                return Tensor(of.flow)
            of = Tensor(of.flow)
        known = functions.METHODS.get(name)
        assert isinstance(of, (Tensor, Unknown))
        if known is None:
            return (
                self.opaque(Method(of, name), args, keywords, node, receiver)
                if not isinstance(of, Tensor)
                else Unknown(of.flow)
            )
        return self.computed(name, known, (of, *args), keywords, node, dims=len(args) + len(keywords))

    def computed(  # noqa: PLR0911 - one return per sort of result
        self, name: str, known: functions.Function, values: Args, keywords: Keywords, node: p.Node, *, dims: int
    ) -> Value:
        """The result of a function of torch, by its table entry; `dims` counts the arguments beside the first."""
        everything = [*values, *keywords.values()]
        first = next(
            (v for v in values if isinstance(v, (Tensor, Unknown, ParameterValue, Params, Sequence, Either))), None
        )
        if known.result == "none":
            return NOTHING
        if known.result == "plain":
            return Plain()
        flow = blend(value.flow for value in everything)
        if any(isinstance(v, Params) for v in everything) and self.grad is not False:
            owners = frozenset[int]().union(*(v.modules for v in everything if isinstance(v, Params)))
            flow = Flow(
                self.grad,
                flow.forwards,
                flow.graph_forwards,
                flow.kept,
                flow.modules | owners,
                flow.source,
                flow.loader,
            )
        flow = self.recorded(flow) if known.graph else flow.cut()
        if known.source is not None and flow.source.value == "unknown":
            flow = Flow(
                flow.graph, flow.forwards, flow.graph_forwards, flow.kept, flow.modules, known.source, flow.loader
            )
        leading = self._leading(first)
        kind = known.of(leading.kind) if leading is not None else (known.kind or Kind.UNKNOWN)
        if name == "log":
            kind = (
                functions.LOG_OF.get(leading.kind, Kind.LOSS if kind is Kind.LOSS else Kind.UNKNOWN)
                if leading
                else Kind.UNKNOWN
            )
        elif name == "exp" and leading is not None:
            kind = functions.EXP_OF.get(leading.kind, kind)
        reduced = known.scalar is None and dims == 0 and "dim" not in keywords
        scalar = True if known.scalar is True or reduced else None
        if leading is not None and kind is leading.kind and kind is not Kind.UNKNOWN:
            tensor = Tensor(
                flow, kind, leading.made_at, leading.made_by, leading.trail, leading.scalar if not reduced else True
            )
        else:
            tensor = Tensor(flow, kind, self.site(node), f"torch.{name}" if "." not in name else name, (), scalar)
        if tensor.kind is Kind.UNKNOWN and any(
            isinstance(v, Tensor) and v.made_by == MADE_OF_GRADIENTS for v in values
        ):
            tensor.made_by = MADE_OF_GRADIENTS
        if (
            isinstance(first, Unknown)
            and leading is None
            and tensor.kind in (Kind.UNKNOWN, Kind.BATCH)
            and known.kind is None
            and not reduced
        ):
            return Unknown(flow, first.holds)
        if known.result == "tuple" or (known.with_dim == "tuple" and not reduced):
            if known.indices:
                labels = Tensor(flow.cut(), Kind.LABELS)
                return self.own(Sequence("tuple", Content((tensor, labels))))
            return Stream(tensor)
        if (
            known.in_place
            and isinstance(node, p.Call)
            and isinstance(node.func, p.Attribute)
            and isinstance(node.func.value, p.Name)
        ):
            old = values[0]
            if isinstance(old, Tensor) and flow is not old.flow:
                self.bind(node.func.value, tensor, node)
        return tensor

    def _leading(self, value: Value | None) -> Tensor | None:
        """The tensor whose kind a computation keeps."""
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Either):
            return self.agreed(value)
        if isinstance(value, Sequence):
            items = [item for item in value.content.all() if isinstance(item, Tensor)]
            if items and len(items) == len(value.content.all()) and all(item.kind is items[0].kind for item in items):
                return items[0]
        return None

    def backward(
        self, value: Value, node: p.Node, name: str, *, through: str, keywords: Keywords, context: bool = False
    ) -> None:
        """Write that gradients were computed."""
        flow = value.flow
        retain = keywords.get("retain_graph", keywords.get("create_graph"))
        inputs = keywords.get("inputs")
        if flow.graph is not True:
            # That it works shows that autograd records, and that what went forward can be trained.
            if self.grad is None:
                self.heap.set(self.state.fields, "grad", True)
            for number in flow.modules:
                thing = self.objects.get(number)
                if isinstance(thing, Module) and thing.cls is None and not thing.layer:
                    self.heap.set(thing.fields, "#trained", value=True)
        self.went_backward |= flow.forwards
        opaque = isinstance(value, Unknown) or flow.graph is not True or not flow.forwards
        self.emit(
            Backward,
            node,
            name=name,
            through=through,
            loss=self.fact(value, name),
            modules=flow.modules,
            whole=not opaque,
            forwards=flow.forwards,
            kept=flow.kept,
            retain_graph=bool(retain.value) if isinstance(retain, Const) else None if retain is not None else False,
            inputs_only=inputs is not None,
            context=context,
        )

    # --- parameters ---

    def _params(self, of: Params, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
        if name == "requires_grad_":
            flag = args[0] if args else Const(value=True)
            frozen = not flag.value if isinstance(flag, Const) else None
            for number in of.modules:
                thing = self.objects.get(number)
                if thing is not None:
                    self.heap.set(thing.fields, "#frozen", frozen if of.whole else None)
            return of
        if name.endswith("_") and not name.startswith("_"):
            self.changed_by_hand(of.modules, (*args, *keywords.values()), node)
            return of
        if name in ("keys", "items", "values", "copy"):
            return of
        if name.startswith("register_"):
            for value in args:
                self.call_back(value, node)
            return Plain()
        known = functions.METHODS.get(name)
        if known is not None:
            return self.computed(name, known, (of, *args), keywords, node, dims=len(args) + len(keywords))
        return Unknown(Flow(graph=None, modules=of.modules), of.modules)

    def _grads(self, of: Grads, name: str, args: Args, node: p.Node, receiver: str) -> Value:
        if name == "zero_" or (
            name in ("fill_", "mul_") and args and isinstance(args[0], Const) and args[0].value == 0
        ):
            self.emit(ZeroGrad, node, target=0, name=receiver, modules=of.modules, whole=True)
            return of
        if name in ("detach_", "requires_grad_"):
            return of
        if name.endswith("_"):
            return of
        known = functions.METHODS.get(name)
        return Plain() if known is not None and known.result == "plain" else Tensor(made_by=MADE_OF_GRADIENTS)

    def changed_by_hand(self, modules: frozenset[int], values: Any, node: p.Node) -> None:  # noqa: ANN401 - any iterable of values
        """Parameters are changed in place: an update when gradients go in."""
        if any(isinstance(v, Grads) or (isinstance(v, Tensor) and v.made_by == MADE_OF_GRADIENTS) for v in values):
            self.emit(Stepped, node, optimizer=0, name=self.text(node), modules=modules, whole=True, manual=True)

    def update_by_hand(self, modules: frozenset[int], new: Value, node: p.Node) -> None:
        """`p.data = ...`."""
        self.changed_by_hand(modules, (new,), node)

    def updates_by_hand(self, node: p.Augment, old: Value, value: Value) -> bool:
        """Whether the statement is a hand-written update of parameters; it is written when so."""
        if isinstance(old, Params):
            self.changed_by_hand(old.modules, (value,), node)
            return True
        if isinstance(old, ParameterValue) and not node.rebinds and self.grad is not True:
            self.changed_by_hand(frozenset((old.id,)), (value,), node)
            return True
        return isinstance(old, Grads)

    # --- containers ---

    def _sequence(self, of: Sequence, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str) -> Value:  # noqa: PLR0911 - one branch per method
        if name in ("append", "add", "appendleft", "insert", "put") and args:
            self.append(of, args[-1], node, receiver)
            return NOTHING
        if name in ("extend", "update") and args:
            self.extend_sequence(of, args[0], node, receiver)
            return NOTHING
        if name in ("pop", "popleft"):
            content = of.content
            if content.items and content.rest is None and not args and not self.loop_depth:
                self.heap.set(of.fields, "items", Content(content.items[:-1]))
                return content.items[-1]
            return summary(content.all()) if content.all() else Unknown()
        if name == "clear":
            self.clear(of)
            return NOTHING
        if name == "copy":
            return self.own(Sequence(of.kind, of.content, self.site(node), self.frame.what))
        return Plain()

    def append(self, of: Sequence, value: Value, node: p.Node, receiver: str) -> None:
        """Put an item at a sequence's end."""
        content = of.content
        carries = blend(item.flow for item in content.all()).kept
        kept = self.keep_item(value, carries, node, receiver, bounded=of.bounded)
        site = self.site(node)
        if site not in of.sites:
            of.sites.append(site)
        if content.rest is None and len(content.items) < 64:  # noqa: PLR2004 - more items than that are not told apart
            self.heap.set(of.fields, "items", Content((*content.items, kept)))
        else:
            self.heap.set(
                of.fields, "items", Content(content.items, kept if content.rest is None else join(content.rest, kept))
            )

    def keep_item(self, value: Value, carries: frozenset[int], node: p.Node, receiver: str, *, bounded: bool) -> Value:
        """A value on its way into a container."""
        if isinstance(value, (Tensor, Unknown)):
            return self.keep(value, Holding.APPENDED, receiver, carries, node, bounded=bounded)
        if isinstance(value, Sequence) and value.flow.graph is not False:
            items = tuple(
                self.keep_item(item, carries, node, receiver, bounded=bounded) for item in value.content.items
            )
            return self.own(Sequence(value.kind, Content(items, value.content.rest), value.born, value.function))
        return value

    def extend_sequence(self, sequence: Sequence, value: Value, node: p.Node, name: str) -> None:
        """Put the items of a value at a sequence's end."""
        content = self.content(value)
        for item in content.items[:64]:
            self.append(sequence, item, node, name)
        if content.rest is not None:
            self.append(sequence, content.rest, node, name)

    def _mapping(self, of: Mapping, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:  # noqa: PLR0911 - one branch per method
        named = [(key[1], value) for key, value in of.fields.items() if isinstance(key, tuple)]
        rest = of.fields.get("rest")
        if name == "items":
            pairs = tuple(Sequence("tuple", Content((Const(key), value))) for key, value in named)
            return Sequence(
                "list", Content(pairs, None if rest is None else Sequence("tuple", Content((Plain(), rest))))
            )
        if name == "values":
            return Sequence("list", Content(tuple(value for _, value in named), rest))
        if name == "keys":
            return Sequence("list", Content(tuple(Const(key) for key, _ in named), None if rest is None else Plain()))
        if name in ("get", "pop", "setdefault", "__getitem__"):
            key = args[0] if args else NOTHING
            if isinstance(key, Const):
                found = of.fields.get(("key", key.value))
                if isinstance(found, Value):
                    return self.resolve(found)
                default = args[1] if len(args) > 1 else NOTHING
                if name == "setdefault":
                    self.heap.set(of.fields, ("key", key.value), default)
                return default if rest is None else join(rest, default)
            chosen = self._chosen(of, key)
            everything = of.values()
            return chosen or (summary(everything) if everything else Unknown())
        if name == "update":
            for value in args:
                if isinstance(value, Mapping):
                    for key_, item in value.fields.items():
                        self.heap.set(of.fields, key_, item)
                else:
                    self.heap.set(of.fields, "rest", Unknown(value.flow, held((value,))))
            for key_, item in keywords.items():
                self.heap.set(of.fields, ("key", key_), item)
            return NOTHING
        if name == "clear":
            for key_ in list(of.fields):
                self.heap.drop(of.fields, key_)
            return NOTHING
        if name in ("copy", "to", "cuda"):
            copy: Mapping = self.own(Mapping(self.site(node)))
            copy.fields.update(of.fields)
            return copy
        return Plain()

    # --- objects of libraries ---

    def tool_method(self, of: Tool, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str) -> Value:  # noqa: C901, PLR0911, PLR0912 - one branch per protocol
        """A method of an object of a library class."""
        optimizer = next((v for v in args if isinstance(v, Optimizer)), None)
        if of.name in training.SCALERS:
            if name == "scale":
                return args[0] if args else Unknown()
            if name == "step" and optimizer is not None:
                self.stepped(optimizer, node, self.text_of_argument(node, 0), scaled=True)
                return NOTHING
            if name == "unscale_" and optimizer is not None:
                self.emit(Unscaled, node, scaler=of.id, optimizer=optimizer.id)
                return NOTHING
            if name == "update":
                self.emit(ScalerUpdated, node, scaler=of.id)
                return NOTHING
            if name in ("step", "unscale_"):
                return self.opaque(Method(of, name), args, keywords, node, f"{receiver}.{name}")
            return Plain()
        if training.scheduler_of(of.name) or "scheduler" in of.name:
            if name in ("step", "step_update"):
                owner = next((n for n in of.holds if isinstance(self.objects.get(n), Optimizer)), 0)
                self.emit(SchedulerStepped, node, scheduler=of.id, optimizer=owner, name=receiver)
                return NOTHING
            if name == "state_dict":
                return self._state_dict(node)
            return Plain()
        framed = self.framework_method(of, name, args, keywords, node, receiver)
        if framed is not None:
            return framed
        if of.name == "contextlib.ExitStack" and name == "enter_context":
            return args[0] if args else Unknown()
        library = layers.canonical(of.name)
        if libraries.harmless(library) or libraries.harmless(f"{library}.{name}"):
            values = [*args, *keywords.values()]
            for value in values:
                if value.flow.graph is not False and value.flow.forwards:
                    self.emit(Logged, node, value=self.fact(value), sink=f"{library}.{name}")
            flow = blend(value.flow for value in values).cut()
            return Unknown(flow, of.holds) if flow.forwards else Plain()
        return self.opaque(Method(of, name), args, keywords, node, f"{receiver}.{name}")

    def method_of_unknown(
        self, of: UnknownAttribute, args: Args, keywords: Keywords, node: p.Node, spelling: str
    ) -> Value:  # noqa: PLR0911 - one branch per protocol
        """A method of something that is not known, when its name tells what it must be."""
        name, owner = of.name, of.of
        receiver = spelling.rpartition(".")[0] or spelling
        known = functions.METHODS.get(name)
        if name == "backward" and not args:
            self.backward(owner, node, receiver, through="backward", keywords=keywords)
            return NOTHING
        if (
            name == "backward"
            and isinstance(args[0], (Tensor, Unknown))
            and args[0].flow.forwards
            and not owner.flow.forwards
        ):
            self.backward(args[0], node, self.text_of_argument(node, 0), through=spelling, keywords=keywords)
            return NOTHING
        if name == "zero_grad":
            modules = self.with_parts(frozenset(n for n in owner.holds if isinstance(self.objects.get(n), Module)))
            self.emit(ZeroGrad, node, target=0, name=receiver, modules=modules, whole=False)
            return NOTHING
        if name in ("append", "add", "appendleft") and args and args[0].flow.graph is True:
            self.keep_item(args[0], frozenset(), node, receiver, bounded=True)  # where it goes is out of sight
        if name in _MOVES or (known is not None and owner.flow.source.value != "unknown"):
            if known is not None and known.result == "plain":
                return Plain()
            if known is not None and known.kind is not None and owner.flow.forwards:
                return self.computed(name, known, (owner, *args), keywords, node, dims=len(args) + len(keywords))
            flow = owner.flow if known is None or known.graph else owner.flow.cut()
            return Unknown(flow, owner.holds)
        if known is not None and (owner.flow.forwards or owner.flow.graph is True):
            return self.computed(name, known, (owner, *args), keywords, node, dims=len(args) + len(keywords))
        if (
            known is not None
            and known.result == "plain"
            and name in ("item", "tolist", "numpy", "numel", "size", "dim")
        ):
            return Plain()
        if known is not None and not known.graph and name == "detach":
            return Unknown(owner.flow.cut(), owner.holds)
        values = [*args, *keywords.values()]
        if not values and known is None:
            self.hand_over(spelling, [owner], [], node)
            return Unknown(
                owner.flow if owner.flow.forwards else Flow(graph=None), owner.holds, (".()", owner.symbol, name)
            )
        result = self.opaque(of, args, keywords, node, spelling)
        if owner.flow.forwards and isinstance(result, Unknown):
            return Unknown(blend((result.flow, owner.flow)), result.holds | owner.holds)
        return result

    def text_of_argument(self, node: p.Node, position: int) -> str:
        """The user's spelling of a call's argument."""
        if isinstance(node, p.Call) and position < len(node.args):
            return self.text(node.args[position])
        return ""

    def clipped(self, function: str, values: Args, node: p.Node) -> None:
        """Write that gradients were clipped."""
        modules, _ = self.parameters_in(values)
        self.emit(Clipped, node, function=function, modules=modules)

    def framework_method(
        self, of: Tool, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
    ) -> Value | None:
        """A method of a framework's object; None where the framework says nothing of it."""
        raise NotImplementedError

    def owned_method(
        self, of: Module, name: str, args: Args, keywords: Keywords, node: p.Node, receiver: str
    ) -> Value | None:
        """A method that a framework gives its modules; None where it says nothing of it."""
        raise NotImplementedError


__all__ = ["MADE_OF_GRADIENTS", "Methods", "TensorFact"]
