"""Modules: how they are built and registered, what mode they are in, and what calling them does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_doctor.static.calls import Calls
from torch_doctor.static.flow import EMPTY, Flow, blend
from torch_doctor.static.machine import constant
from torch_doctor.static.tables import frameworks, layers, losses, training
from torch_doctor.static.values import (
    Bound,
    ClassValue,
    Const,
    Content,
    Either,
    FunctionValue,
    Instance,
    Lib,
    Mapping,
    Module,
    Object,
    Optimizer,
    ParameterValue,
    Plain,
    Sequence,
    Spread,
    Tensor,
    Unknown,
    Value,
    held,
    latest,
    summary,
)
from torch_doctor.trace import Forward, Held, Kind, ModeSet, ModuleBuilt, Registered, TensorFact

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.calls import Args, Keywords
    from torch_doctor.static.tables.layers import Layer
    from torch_doctor.trace import Site, Tri

LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})
PARTS = 400
"""Parts of a module that are looked at."""


class Inside(NamedTuple):
    """What a module consists of: its parts (itself first), whether some are out of sight, and who owns parameters."""

    parts: tuple[Module, ...]
    opaque: bool
    owners: frozenset[int]


class Modules(Calls):
    """The part of the executor that knows modules."""

    _inside: dict[int, tuple[int, Inside]]
    _remembered: dict[Any, tuple[Any, int]]

    # --- classes ---

    def module_class(self, cls: ClassValue) -> bool:
        """Whether a project class is a module: by its library base, or by its `forward` when a base is out of sight."""
        for name in map(layers.canonical, cls.libraries()):
            if name in layers.MODULE_BASES or name in frameworks.MODULES or name in layers.LAYERS:
                return True
            if name in layers.CONTAINERS or name in layers.PARAMETER_CONTAINERS or name in losses.LOSSES:
                return True
            if training.library_model(name) is not None or name.endswith(("PreTrainedModel", "Module")):
                return True
        if cls.opaque_base() or any(not name.startswith("builtins.") for name in cls.libraries()):
            found = cls.find("forward")
            return found is not None and isinstance(found[0], FunctionValue) and found[0].style != "static"
        return False

    def build_module(self, cls: ClassValue, args: Args, keywords: Keywords, node: p.Node) -> Value:
        """Construct a project module: run its constructor, then say what became of it."""
        names = [layers.canonical(name) for name in cls.libraries()]
        layer = next(
            (name for name in names if name in layers.LAYERS or name in layers.CONTAINERS or name in losses.LOSSES), ""
        )
        known = next((model for model in map(training.library_model, names) if model is not None), None)
        own_base = not cls.opaque_base() and all(
            name in layers.MODULE_BASES or name in layers.CONTAINERS for name in names
        )
        sensitive: Tri = False if own_base else (known.sensitive if known else None)
        module: Module = self.own(Module(self.site(node), cls=cls, layer=layer, sensitive=sensitive))
        module.fields["#mode"] = (0, True)
        if layer in layers.LAYERS:
            self._set_table(module, layer, (), {})
        init = cls.find("__init__")
        runs_own = init is not None and isinstance(init[0], FunctionValue)
        if not runs_own or cls.opaque_base():
            module.fields["#initialised"] = True
        if layer in LISTS and not runs_own:
            self._fill_list(module, args, keywords)
        self.building.append(module)
        self.initialise(module, cls, args, keywords, node)
        self.building.pop()
        self._report_built(module, cls, node)
        return module

    def _report_built(self, module: Module, cls: ClassValue, node: p.Node) -> None:
        inside = self.inside(module)
        early: tuple[Site, FunctionValue] | None = module.fields.get("#early")
        initialised: Tri = module.fields.get("#initialised", False)
        mistaken: FunctionValue | None = None
        if early is not None:
            mistaken = early[1]
        elif initialised is False:
            mistaken = module.fields.get("#constructor")
        self.emit(
            ModuleBuilt,
            node,
            module=module.id,
            class_name=cls.name,
            class_site=cls.unit.site(cls.node.at),
            init_site=None if mistaken is None else mistaken.unit.site(mistaken.node.name_at),
            sensitive=self.mode_of(module)[0],
            parameters=True if inside.owners - {module.id} else None if inside.opaque else False,
            base_initialised=initialised,
            early_member=None if early is None else early[0],
        )
        for key, held_ in list(module.fields.items()):
            if isinstance(key, tuple) and key[0] == "#held":
                self._report_held(module, cls, key[1], held_)

    def _report_held(self, module: Module, cls: ClassValue, name: str, assigned: tuple[Site, object]) -> None:
        container = module.fields.get(name)
        if not isinstance(container, (Sequence, Mapping)):
            return  # it has become something else: a ModuleList, say
        items = container.content.all() if isinstance(container, Sequence) else container.values()
        members = [member for item in items for member in _members(item)]
        if not members:
            return
        site, function = assigned
        new = container.id > module.id
        made_elsewhere = new and container.function is not None and container.function is not function
        own = [member for member in members if member.id > module.id]
        self.emit(
            Held,
            container.born if made_elsewhere and container.born is not None else site,
            owner=module.id,
            owner_class=cls.name,
            name=name,
            container=container.kind if isinstance(container, Sequence) else "dict",
            members=tuple(member.id for member in members),
            parameters=all(isinstance(member, ParameterValue) for member in members),
            trainable=_any_of(self._matters(member) for member in members),
            passed_in=new and not own,
            registered=any("#registered" in member.fields for member in members),
            member_class=next((m.class_name for m in members if isinstance(m, Module)), ""),
            filled_at=tuple(container.sites),
        )

    def _matters(self, member: Object) -> Tri:
        """Whether hiding a member does harm: it has something to train, or a mode to set."""
        if isinstance(member, Module):
            inside = self.inside(member)
            bare = inside.owners - {part.id for part in inside.parts}
            if bare or any(self._has_parameters(part) is True for part in inside.parts):
                return True
            return True if self.mode_of(member)[0] is True else None if inside.opaque else False
        return True

    # --- parts ---

    def inside(self, module: Module) -> Inside:
        """What a module consists of."""
        cached = self._inside.get(module.id)
        if cached is not None and cached[0] == self.heap.structure:
            return cached[1]
        parts: dict[int, Module] = {}
        owners: set[int] = {module.id}
        opaque = False
        waiting = [module]
        while waiting and len(parts) < PARTS:
            part = waiting.pop()
            if part.id in parts:
                continue
            parts[part.id] = part
            if self._has_parameters(part) is not False:
                owners.add(part.id)
            if part.cls is None and not part.layer:
                opaque = True
            for key, value in part.fields.items():
                if isinstance(key, str) and key.startswith("#"):
                    continue
                for child in _children(value, listed=key == "items"):
                    if isinstance(child, Module):
                        waiting.append(child)
                    elif isinstance(child, ParameterValue):
                        owners.add(child.id)
                    else:
                        opaque = True
        result = Inside(tuple(parts.values()), opaque, frozenset(owners))
        self._inside[module.id] = (self.heap.structure, result)
        return result

    def _has_parameters(self, part: Module) -> Tri:
        if part.table is not None:
            return part.table.parameters
        if part.layer in layers.CONTAINERS or part.layer in losses.LOSSES:
            return False
        if part.cls is not None and part.sensitive is False:
            return False  # its own bases are in sight: what it has lies in its parts
        return None if part.sensitive is None and part.cls is not None else True

    def with_parts(self, modules: frozenset[int]) -> frozenset[int]:
        """These modules and all in them that owns parameters."""
        found: set[int] = set(modules)
        for number in modules:
            thing = self.objects.get(number)
            if isinstance(thing, Module):
                found |= self.inside(thing).owners
        return frozenset(found)

    def trainable(self, module: Module) -> Tri:
        """Whether it has parameters that require gradients."""
        inside = self.inside(module)
        found: list[Tri] = []
        for part in inside.parts:
            has = self._has_parameters(part)
            if has is not False:
                frozen = part.fields.get("#frozen", False)
                found.append(False if frozen is True else None if frozen is None or has is None else True)
        bare = inside.owners - {part.id for part in inside.parts}
        found.extend(True for _ in bare)
        if "#trained" in module.fields:
            return True
        if module.fields.get("#frozen", False) is None:
            return None
        return _any_of(found) if found else (None if inside.opaque else False)

    # --- modes ---

    def set_mode(self, module: Module, training_: Tri, node: p.Node, name: str) -> None:
        """`train()` and `eval()`."""
        self.heap.set(module.fields, "#mode", (next(self.stamps), training_))
        self.emit(ModeSet, node, module=module.id, name=name, training=training_, whole=self._whole(module))

    def _whole(self, module: Module) -> bool:
        return "#registered" not in module.fields

    def mode_of(self, module: Module) -> tuple[Tri, Tri]:
        """Whether parts of a module care about the mode, and whether any of these is in training mode."""
        caring: list[tuple[Tri, Tri]] = []
        seen: set[int] = set()
        self._collect_modes(module, self.own_mode(module), caring, seen)
        sensitive = _any_of(cares for cares, _ in caring) if caring else False
        modes = [mode for cares, mode in caring if cares is not False]
        if not modes:
            return sensitive, self.own_mode(module)[1]
        if any(cares is True and mode is True for cares, mode in caring):
            return sensitive, True
        if all(mode is False for mode in modes):
            return sensitive, False
        return sensitive, True if all(mode is True for mode in modes) else None

    def own_mode(self, module: Module) -> tuple[int, Tri]:
        """The mode that was last set on a module or on one that it is part of."""
        mode: tuple[int, Tri] = module.fields.get("#mode", (0, True))
        owner = module.fields.get("#owner")
        seen = {module.id}
        while isinstance(owner, Module) and owner.id not in seen:
            seen.add(owner.id)
            mode = max(mode, owner.fields.get("#mode", (0, True)), key=lambda stamped: stamped[0])
            owner = owner.fields.get("#owner")
        return mode

    def _collect_modes(
        self, module: Module, inherited: tuple[int, Tri], caring: list[tuple[Tri, Tri]], seen: set[int]
    ) -> None:
        if module.id in seen or len(seen) > PARTS:
            return
        seen.add(module.id)
        own: tuple[int, Tri] = module.fields.get("#mode", (0, True))
        mode = max(own, inherited, key=lambda stamped: stamped[0])
        cares: Tri = True if module.fields.get("#reads_mode") else module.sensitive
        if cares is not False:
            caring.append((cares, mode[1]))
        for key, value in module.fields.items():
            if isinstance(key, str) and key.startswith("#"):
                continue
            for child in _children(value, listed=key == "items"):
                if isinstance(child, Module):
                    self._collect_modes(child, mode, caring, seen)
                elif child is not None and not isinstance(child, ParameterValue):
                    caring.append((None, mode[1]))

    def current_mode(self, module: Module) -> Tri:
        """`module.training`, the modules whose forward is being executed included."""
        modes = [self.own_mode(module)]
        modes += [caller.fields.get("#mode", (0, True)) for caller in self.modules_called]
        latest_mode: tuple[int, Tri] = max(modes, key=lambda stamped: stamped[0])
        return latest_mode[1]

    # --- registration ---

    def set_module_attribute(self, module: Module, name: str, new: Value, node: p.Node) -> None:
        """Assign an attribute of a module: what is a module, parameter or list of these becomes part of it."""
        self.heap.set(module.fields, name, new)
        site = self.site(node)
        for child in _children(new, listed=False):
            if isinstance(child, (Module, ParameterValue)):
                if isinstance(child, ParameterValue) and not child.declared:
                    continue
                self.register(module, child, name, node)
                if module.fields.get("#initialised") is not True and "#early" not in module.fields and self.frame.what:
                    self.heap.set(module.fields, "#early", (site, self.frame.what))
        self.heap.restructure()
        if isinstance(new, (Sequence, Mapping)):
            self.heap.set(module.fields, ("#held", name), (site, self.frame.what))

    def register(self, owner: Module, child: Object, name: str, node: p.Node) -> None:
        """Make a module or parameter part of a module."""
        self.heap.set(child.fields, "#registered", value=True)
        self.heap.set(child.fields, "#owner", owner)
        self.heap.restructure()
        if not self.building:
            self.emit(Registered, node, owner=owner.id, child=child.id, name=name)

    def listed(self, module: Module) -> Content | None:
        """The children of a module that is a list of modules; None for any other."""
        content = module.fields.get("items")
        return content if isinstance(content, Content) else None

    def add_to_list(self, module: Module, items: tuple[Value, ...], node: p.Node) -> None:
        """`ModuleList.append` and `extend`, `Sequential.append`."""
        content = self.listed(module) or Content()
        if self.loop_depth and len(content.items) >= PARTS:
            return
        self.heap.set(module.fields, "items", Content((*content.items, *items), content.rest))
        for item in items:
            for child in _children(item, listed=False):
                if isinstance(child, (Module, ParameterValue)):
                    self.register(module, child, "items", node)
        self.heap.restructure()

    def _fill_list(self, module: Module, args: Args, keywords: Keywords) -> None:
        values = [*args, *keywords.values()]
        items: list[Value] = []
        rest: list[Value] = []
        for value in values:
            if isinstance(value, Spread):
                rest += value.content.all()
            elif isinstance(value, (Sequence, Mapping)) or (
                isinstance(value, Module) and value.layer == "torch.nn.ModuleList"
            ):
                content = value.content if isinstance(value, Sequence) else None
                if isinstance(value, Mapping):
                    items += value.values()
                    for key, item in value.fields.items():
                        if isinstance(key, tuple):
                            module.fields[str(key[1])] = item
                    continue
                content = content or self.content(value)
                items += content.items
                rest += [] if content.rest is None else [content.rest]
            elif isinstance(value, Unknown):
                rest.append(value)
            else:
                items.append(value)
        module.fields["items"] = Content(tuple(items), summary(rest) if rest else None)
        for item in (*items, *rest):
            for child in _children(item, listed=False):
                if isinstance(child, Object):
                    self.heap.set(child.fields, "#registered", value=True)
                    self.heap.set(child.fields, "#owner", module)
        self.heap.restructure()

    def loss(
        self, name: str, args: Args, keywords: Keywords, node: p.Node, spelling: str, module: Module | None = None
    ) -> Value:
        """Compute one of torch's losses."""
        raise NotImplementedError

    def sliced(self, module: Module, content: Content, node: p.Index) -> Value:
        """A stretch of a module that is a list of modules: another list of the same modules."""
        items, rest = content.items, content.rest
        bounds = [getattr(node.key, part, None) for part in ("lower", "upper", "step")]
        numbers = [constant(self.evaluate(bound)) if bound is not None else None for bound in bounds]
        whole = [number for number in numbers if number is None or isinstance(number, int)]
        known = all(number is not None for bound, number in zip(bounds, numbers, strict=True) if bound is not None)
        if known and rest is None and len(whole) == len(numbers):
            items = items[slice(*whole)]
        else:
            items, rest = (), summary(content.all()) if content.all() else None
        part: Module = self.own(Module(module.born, layer=module.layer, sensitive=False))
        part.fields["#mode"] = self.own_mode(module)
        part.fields["#initialised"] = True
        part.fields["items"] = Content(items, rest)
        return part

    # --- layers of torch ---

    def build_layer(self, name: str, args: Args, keywords: Keywords, node: p.Node) -> Module:
        """Construct a module of torch's own."""
        module: Module = self.own(Module(self.site(node), layer=name, sensitive=False))
        module.fields["#mode"] = (0, True)
        module.fields["#initialised"] = True
        module.settings = dict(keywords)
        if name in layers.CONTAINERS or name in layers.PARAMETER_CONTAINERS:
            self._fill_list(module, args, keywords)
        elif name in layers.LAYERS:
            self._set_table(module, name, args, keywords)
        if not self.building and not self.modules_called and name not in losses.LOSSES:
            self.emit(
                ModuleBuilt,
                node,
                module=module.id,
                class_name=name,
                sensitive=self.mode_of(module)[0],
                parameters=_any_of(self._has_parameters(part) for part in self.inside(module).parts),
            )
        return module

    def _set_table(self, module: Module, name: str, args: Args, keywords: Keywords) -> None:
        table = layers.LAYERS[name]
        module.table = table
        module.sensitive = table.mode if isinstance(table.mode, bool) else self._decides(table.mode, args, keywords)

    def _decides(self, argument: layers.Argument, args: Args, keywords: Keywords) -> Tri:
        """Whether a constructor argument makes a layer care about the mode."""
        value = keywords.get(argument.name)
        if value is None and argument.position < len(args):
            value = args[argument.position]
        answer: Tri
        if value is None:
            answer = None if "**" in keywords else argument.default > argument.above
        elif isinstance(value, Module):
            answer = self.mode_of(value)[0]
        elif isinstance(value, Const):
            number = value.value
            answer = bool(isinstance(number, (int, float)) and number > argument.above)
        else:
            answer = None if isinstance(value, Unknown) else True if argument.above == 0 and _likely(argument) else None
        if argument.beside is None or answer is False:
            return answer
        beside = self._decides(argument.beside, args, keywords)
        return False if beside is False else None if beside is None or answer is None else True

    # --- calling ---

    def forward(self, module: Module, args: Args, keywords: Keywords, node: p.Node, name: str) -> Value:
        """Call a module; the outermost call is a `Forward` event."""
        if module.layer in losses.LOSSES and (module.cls is None or module.cls.find("forward") is None):
            return self.loss(module.layer, args, keywords, node, name, module)
        if self.modules_called:
            return self._inner(module, args, keywords, node)
        if module.cls is None and any(isinstance(value, Optimizer) for value in (*args, *keywords.values())):
            return self.opaque(module, args, keywords, node, name)  # what gets an optimizer is no module
        sensitive, mode = self.mode_of(module)
        trainable = self.trainable(module)
        if sensitive is False and trainable is False and not self._has_frozen(module):
            return self._inner(module, args, keywords, node)
        values = [*args, *keywords.values()]
        event: Forward = self.emit(
            Forward,
            node,
            module=module.id,
            name=name or module.name,
            class_name=module.class_name,
            sensitive=sensitive,
            training=mode,
            grad=self.grad,
            trainable=trainable,
            inputs=self._input_fact(values),
            output=TensorFact(),
        )
        output = self._inner(module, args, keywords, node)
        # A custom module may have shown only now that it reads its mode.
        event.sensitive, event.training = self.mode_of(module)
        flow = blend(value.flow for value in values)
        output = self.marked(output, event.index, flow, module, trainable)
        event.output = self.fact(output)
        return output

    def _input_fact(self, values: list[Value]) -> TensorFact:
        flow = blend(value.flow for value in values)
        first = next((value for value in values if not isinstance(value, (Const, Plain))), None)
        fact = self.fact(first) if first is not None else TensorFact()
        return replace(fact, source=flow.source, forwards=flow.forwards, graph=flow.graph)

    def _has_frozen(self, module: Module) -> bool:
        return len(self.inside(module).owners) > 1 or self._has_parameters(module) is not False

    def marked(self, value: Value, index: int, inputs: Flow, module: Module, trainable: Tri) -> Value:
        """A module's output, with the forward event in its history."""
        if isinstance(value, Either):
            return Either(tuple((f, self.marked(v, index, inputs, module, trainable)) for f, v in value.options))
        if isinstance(value, Sequence):
            content = value.content
            items = tuple(self.marked(item, index, inputs, module, trainable) for item in content.items)
            rest = None if content.rest is None else self.marked(content.rest, index, inputs, module, trainable)
            return self.own(Sequence(value.kind, Content(items, rest), value.born, value.function))
        if isinstance(value, Mapping):
            mapping: Mapping = self.own(Mapping(value.born, value.function))
            for key, item in value.fields.items():
                mapping.fields[key] = self.marked(item, index, inputs, module, trainable)
            return mapping
        if not isinstance(value, (Tensor, Unknown)):
            return value
        graph = value.flow.graph
        grad = self.grad
        if grad is False:
            graph = False
        elif graph is not False or trainable is not False:
            known = trainable is True or inputs.graph is True
            cut = isinstance(value, Tensor) and value.flow.graph is False and value.kind in (Kind.LABELS, Kind.NOISE)
            graph = False if cut else grad if known else None
        forwards = value.flow.forwards | inputs.forwards | {index}
        if graph is False:
            flow = Flow(False, forwards, source=inputs.source, loader=inputs.loader)
        else:
            modules = inputs.modules | value.flow.modules | self.inside(module).owners
            flow = Flow(
                graph,
                forwards,
                inputs.graph_forwards | value.flow.graph_forwards | {index},
                inputs.kept | value.flow.kept,
                modules,
                inputs.source,
                inputs.loader,
            )
        return value.with_flow(flow) if isinstance(value, Tensor) else Unknown(flow, value.holds)

    def _inner(self, module: Module, args: Args, keywords: Keywords, node: p.Node) -> Value:
        """What calling a module returns."""
        found = module.cls.find("forward") if module.cls is not None else None
        if found is not None and isinstance(found[0], FunctionValue):
            return self._followed(module, found[0], args, keywords, node)
        content = self.listed(module)
        if module.layer == "torch.nn.Sequential" and content is not None:
            return self._chained(module, content, args, keywords, node)
        if module.table is not None:
            return self._layer_output(module, module.table, args, keywords, node)
        values = [*args, *keywords.values()]
        flow = blend(value.flow for value in values)
        return Unknown(
            Flow(None if self.grad is not False else False, flow.forwards, source=flow.source, loader=flow.loader)
        )

    def _followed(self, module: Module, function: FunctionValue, args: Args, keywords: Keywords, node: p.Node) -> Value:
        """Execute a project module's `forward`, once for all calls that look alike."""
        values = (*args, *keywords.values())
        key = (
            module.id,
            self.heap.structure,
            self.grad,
            self.current_mode(module),
            tuple(keywords),
            *map(_shape, values),
        )
        remembered = self._remembered.get(key)
        if remembered is not None:
            return remembered[0]  # type: ignore[no-any-return]  # a value
        mark, number = self.heap.mark(), latest()
        structure = self.heap.structure
        self.modules_called.append(module)
        result = self.call(Bound(function, module), args, keywords, node)
        self.modules_called.pop()
        if structure == self.heap.structure and self.heap.only_newer(mark, number):
            self._remembered[key] = (result, number)
        return result

    def _chained(self, module: Module, content: Content, args: Args, keywords: Keywords, node: p.Node) -> Value:
        value: Value = args[0] if args else Unknown()
        first = True
        self.modules_called.append(module)
        for item in content.items:
            given = args if first else (value,)
            value = self.call(item, given, keywords if first else {}, node)
            first = False
        if content.rest is not None:
            value = self.call(content.rest, args if first else (value,), {}, node)
        self.modules_called.pop()
        return value

    def _layer_output(self, module: Module, table: Layer, args: Args, keywords: Keywords, node: p.Node) -> Value:
        values = [*args, *keywords.values()]
        flow = blend(value.flow for value in values)
        grad = self.grad
        if table.parameters and grad is not False and module.fields.get("#frozen") is not True:
            flow = Flow(
                grad,
                flow.forwards,
                flow.graph_forwards,
                flow.kept,
                flow.modules | {module.id},
                flow.source,
                flow.loader,
            )
        else:
            flow = self.recorded(flow)
        first = args[0] if args else next(iter(keywords.values()), None)
        if table.kind is None:
            if isinstance(first, Tensor):
                return first.with_flow(flow)
            return Unknown(flow) if not isinstance(first, Unknown) else Unknown(flow, first.holds)
        output = Tensor(flow, table.kind, *self._made(module, table, node))
        if table.result == "tensor":
            return output
        state: Value = Tensor(flow)
        if table.result == "recurrent":
            state = self.own(Sequence("tuple", Content((Tensor(flow), Tensor(flow)))))
        return self.own(Sequence("tuple", Content((output, state))))

    def _made(self, module: Module, table: Layer, node: p.Node) -> tuple[Site | None, str]:
        """Where an output got its kind: the layer's use in `forward`; in a Sequential its construction."""
        if table.kind in (Kind.LOGITS, Kind.HIDDEN, Kind.UNKNOWN):
            return None, module.layer
        chained = (
            self.modules_called
            and self.modules_called[-1].layer == "torch.nn.Sequential"
            and self.modules_called[-1].cls is None
        )
        return (module.born if chained else self.site(node)), module.layer


def _children(value: Any, *, listed: bool) -> list[Value | None]:  # noqa: ANN401 - fields hold plain flags beside values
    """The modules and parameters that an attribute's value brings; other values that may be modules too."""
    if isinstance(value, (Module, ParameterValue)):
        return [value]
    if isinstance(value, Either):
        return [child for _, option in value.options for child in _children(option, listed=False)]
    if listed and isinstance(value, Content):
        return [child for item in value.all() for child in _children(item, listed=False)]
    if isinstance(value, Unknown) and any(True for _ in value.holds):
        return [value]
    if isinstance(value, Instance) and value.cls.opaque_base():
        return [value]
    return []


def _members(value: Value, depth: int = 2) -> list[Object]:
    """The modules and parameters that lie in an item of a plain container."""
    if isinstance(value, Module) or (isinstance(value, ParameterValue) and value.declared):
        return [value]
    if isinstance(value, Either):
        return [member for _, option in value.options for member in _members(option, depth)]
    if depth and isinstance(value, Sequence):
        return [member for item in value.content.all() for member in _members(item, depth - 1)]
    if depth and isinstance(value, Mapping):
        return [member for item in value.values() for member in _members(item, depth - 1)]
    return []


def _any_of(answers: Any) -> Tri:  # noqa: ANN401 - any iterable of Tri
    found = list(answers)
    return True if True in found else None if None in found else False


def _likely(argument: layers.Argument) -> bool:
    """Whether an argument that is not known in numbers switches the layer's care for the mode on: a dropout rate does."""
    return argument.name == "p"


def _shape(value: Value) -> Any:  # noqa: ANN401 - a key
    """What the execution of a `forward` can tell of an argument."""
    if isinstance(value, Const):
        try:
            hash(value.value)
        except TypeError:
            return id(value)
        return ("const", value.value)
    if isinstance(value, Plain):
        return "plain"
    if isinstance(value, Tensor):
        return (value.kind, value.scalar, value.made_at)
    if isinstance(value, Unknown):
        return "unknown"
    if isinstance(value, Object):
        return value.id
    if isinstance(value, Lib):
        return value.name
    return id(value)


__all__ = ["EMPTY", "LISTS", "Inside", "Modules", "held"]
