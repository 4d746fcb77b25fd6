"""Constructs modules: those of project classes and torch's own layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.language import constructors, containers
from torch_doctor.static.library import library_family
from torch_doctor.static.tables import frameworks, layers, losses
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import mending
from torch_doctor.static.training.evaluation import mode_methods, modes
from torch_doctor.static.training.module import (
    library_models,
    module_classes,
    module_parts,
    plain_containers,
    registering,
)
from torch_doctor.static.training.module.misspelt import misspelt_constructor, misspelt_forward
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    BUILT,
    NOWHERE,
    Call,
    ClassValue,
    Const,
    Content,
    Default,
    Fact,
    FunctionValue,
    Mapping,
    Module,
    Object,
    Sequence,
    Spread,
    Unknown,
    Value,
    summary,
)
from torch_doctor.trace import Meant, ModuleBuilt

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Origin
    from torch_doctor.trace import Site, Tri

LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})


def build_module(run: Run, cls: ClassValue, call: Call) -> Value:
    """Construct a project module: run its constructor, then say what became of it."""
    names = [canonical(name) for name in cls.libraries()]
    layer = next(
        (name for name in names if name in layers.LAYERS or name in layers.CONTAINERS or name in losses.LOSSES), ""
    )
    bases = (library_models.library_model(run, name) for name in names)
    known = next((model for model in bases if model is not None), None)
    own_base = not cls.opaque_base() and all(name in layers.MODULE_BASES or name in layers.CONTAINERS for name in names)
    sensitive: Tri = False if own_base else (known.sensitive if known else None)
    table = layers.LAYERS.get(layer)
    if table is not None:
        sensitive = _cares(run, table, Call((), {}, call.node))
    module: Module = run.own(Module(run.site(call.node), cls=cls, layer=layer, table=table, sensitive=sensitive))
    if own_base:
        module.facts[Fact.ORIGIN] = _as_built(run, call)
    for name in frameworks.ATTRIBUTES.keys() & {*names}:
        module.fields.update({key: Const(value) for key, value in frameworks.ATTRIBUTES[name].items()})
    init = cls.find("__init__")
    runs_own = init is not None and isinstance(init[0], FunctionValue)
    guessed = cls.opaque_base() or not any(module_classes.is_known_module(run, name) for name in names)
    if not runs_own or guessed or (init is not None and _is_stub(init[0])):
        module.facts[Fact.INITIALISED] = True
    if layer in LISTS and not runs_own:
        _fill_list(run, module, call)
    run.position.building += (module,)
    run.dead_end = False
    constructors.initialise(run, module, cls, call)
    run.position.building = run.building[:-1]
    _register_as_meant(run, module)
    if not run.dead_end:  # a constructor that raises builds nothing
        _report_built(run, module, cls, call.node)
        for observe in run.observers.built:
            observe(run, module, call)
    return module


def _register_as_meant(run: Run, module: Module) -> None:
    """Register what plain containers hold that were meant to."""
    for name, (site, *_) in module.fact(Fact.HELD).items():
        container = module.fields.get(name)
        if not isinstance(container, (Sequence, Mapping)):
            continue
        if mending.is_meant(run, site, Meant.REGISTERED) or mending.is_meant(run, container.born, Meant.REGISTERED):
            run.heap.set(module.facts, Fact.MEANT, module.fact(Fact.MEANT) | {name})
            for member in module_parts.members(container):
                run.heap.set(member.facts, Fact.REGISTERED, value=True)
                run.heap.set(member.facts, Fact.OWNER, module)
            run.heap.restructure()


def _is_stub(function: Value) -> bool:
    """Whether a function's body is only `...`: a sketch, not code."""
    body = function.node.body if isinstance(function, FunctionValue) else ()
    values = [statement.value for statement in body if isinstance(statement, p.Evaluate)]
    return bool(body) and all(isinstance(value, p.Const) for value in values) and len(values) == len(body)


def _report_built(run: Run, module: Module, cls: ClassValue, node: p.Node) -> None:
    inside = module_parts.parts_of(run, module)
    early: tuple[Site, FunctionValue] | None = module.fact(Fact.EARLY)
    initialised: Tri = module.fact(Fact.INITIALISED)
    mistaken: FunctionValue | None = None
    if initialised is False and early is None and cls.find("__call__") is not None:
        initialised = None  # what calls itself, and registers nothing, needs no base
    if initialised is False:
        mistaken = module.fact(Fact.CONSTRUCTOR)
    if early is not None and mistaken is None:
        mistaken = early[1]
    misspelt, forward = None, None
    if mistaken is None:
        misspelt = misspelt_constructor(run, cls)
        forward = misspelt_forward(run, module, cls) if misspelt is None else None
        misspelt = misspelt or forward
    mistaken = mistaken or misspelt
    run.emit(
        ModuleBuilt,
        node,
        module=module.id,
        class_name=cls.name,
        class_site=cls.unit.site(cls.node.at),
        init_site=None if mistaken is None else mistaken.unit.site(mistaken.node.name_at),
        sensitive=modes.mode_of(run, module)[0],
        parameters=True if inside.owners - {module.id} else None if inside.opaque else False,
        recurrent=any(part.layer in layers.RECURRENT for part in inside.parts),
        base_initialised=initialised,
        early_member=None if early is None else early[0],
        init_class="" if mistaken is None or mistaken is misspelt or mistaken.owner is None else mistaken.owner.name,
        calls_super=mistaken is not None and initialised is False and "super" in mistaken.node.calls,
        misspelt="" if misspelt is None else misspelt.node.name,
        meant="__init__" if forward is None else "forward",
        inside=bool(run.building),
    )
    mode_methods.mode_methods(run, cls, node)
    for name, assigned in module.fact(Fact.HELD).items():
        plain_containers.report(run, module, cls, name, assigned)


def _as_built(run: Run, call: Call) -> Origin:
    """Where a module is that this call builds: on the CPU, also where a forward builds it whose own module was moved."""
    return replace(BUILT, births=(run.site(call.node),)) if run.modules_called else BUILT


@library_family({*layers.LAYERS, *layers.CONTAINERS, *layers.PARAMETER_CONTAINERS})
def build_layer(run: Run, name: str, call: Call) -> Module:
    """Construct a module of torch's own."""
    lists = name in layers.CONTAINERS or name in layers.PARAMETER_CONTAINERS
    table = None if lists else layers.LAYERS.get(name)
    sensitive = False if table is None else _cares(run, table, call)
    settings = dict(call.keywords)
    module: Module = run.own(
        Module(run.site(call.node), layer=name, table=table, sensitive=sensitive, given=call.args, settings=settings)
    )
    module.facts[Fact.ORIGIN] = NOWHERE if {"device", "**"} & set(call.keywords) else _as_built(run, call)
    module.facts[Fact.INITIALISED] = True
    module.facts[Fact.WRITTEN] = call.node
    if lists:
        _fill_list(run, module, call)
    if not run.building and not run.modules_called and name not in losses.LOSSES:
        run.emit(
            ModuleBuilt,
            call.node,
            module=module.id,
            class_name=name,
            sensitive=modes.mode_of(run, module)[0],
            parameters=module_parts.some(
                module_parts.has_parameters(run, part) for part in module_parts.parts_of(run, module).parts
            ),
            recurrent=any(part.layer in layers.RECURRENT for part in module_parts.parts_of(run, module).parts),
            holds=module_parts.parts_of(run, module).owners - {module.id} if lists else frozenset(),
        )
    for observe in run.observers.built:
        observe(run, module, call)
    return module


def _cares(run: Run, table: layers.Layer, call: Call) -> Tri:
    """Whether training changes what a layer does."""
    return table.mode if isinstance(table.mode, bool) else _decides(run, table.mode, call)


def _decides(run: Run, argument: layers.Argument, call: Call) -> Tri:
    """Whether a constructor argument makes a layer care about the mode."""
    value = call.keywords.get(argument.name)
    if value is None and argument.position < len(call.args):
        value = call.args[argument.position]
    answer: Tri
    if value is None:
        answer = None if "**" in call.keywords else argument.default > argument.above
    elif isinstance(value, Module):
        answer = modes.mode_of(run, value)[0]
    elif isinstance(value, Const):
        number = value.value
        answer = bool(isinstance(number, (int, float)) and number > argument.above)
        if isinstance(value, Default) and not answer:
            answer = None  # the user may switch it on
    else:
        answer = None if isinstance(value, Unknown) or elsewhere.chosen(value) else _likely(argument)
    if argument.beside is None or answer is False:
        return answer
    beside = _decides(run, argument.beside, call)
    return False if beside is False else None if beside is None or answer is None else True


def _likely(argument: layers.Argument) -> Tri:
    """Whether an argument that is not known in numbers switches the layer's care for the mode on: a dropout rate does."""
    return True if argument.above == 0 and argument.name == "p" else None


def _fill_list(run: Run, module: Module, call: Call) -> None:
    values = call.values
    items: list[Value] = []
    rest: list[Value] = []
    end: Value | None = None
    for value in values:
        if isinstance(value, Spread):
            rest += value.content.all()
            end = value.content.last
        elif isinstance(value, (Sequence, Mapping)) or (
            isinstance(value, Module) and value.layer == "torch.nn.ModuleList"
        ):
            content = value.content if isinstance(value, Sequence) else None
            if isinstance(value, Mapping):
                for key, item in value.fields.items():
                    if isinstance(key, tuple):
                        items.append(item)
                        module.fields[str(key[1])] = item
                    elif isinstance(item, Value):
                        rest.append(item)
                continue
            content = content or containers.content_of(run, value)
            items += content.items
            rest += [] if content.rest is None else [content.rest]
            end = content.last
        elif isinstance(value, Unknown) and len(values) == 1:
            rest.append(value)  # perhaps a dictionary of its layers
        else:
            items.append(value)
            end = value
    # Not logged: it is new.
    module.facts[Fact.LISTED] = Content(tuple(items), summary(rest) if rest else None, end if rest else None)
    registering.perhaps_parts(run, (*items, *rest))
    for item in (*items, *rest):
        for child in module_parts.children(item):
            if isinstance(child, Object):
                run.heap.set(child.facts, Fact.REGISTERED, value=True)
                run.heap.set(child.facts, Fact.OWNER, module)
    run.heap.restructure()
