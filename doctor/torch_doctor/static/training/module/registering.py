"""How modules get their parts: attributes that are assigned, lists that are added to, parts that are known by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.tables import layers
from torch_doctor.static.training.evaluation import modes
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    ANY_NAME,
    Content,
    Either,
    Fact,
    Mapping,
    Module,
    Object,
    ParameterValue,
    Sequence,
    Unknown,
    UnknownAttribute,
    UnknownName,
    Value,
    constant,
    either,
    fresh_symbol,
    held,
    summary,
)
from torch_doctor.trace import Registered

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol
    from torch_doctor.trace import Tri


def set_module_attribute(run: Run, module: Module, name: str, new: Value, node: p.Node) -> None:
    """Assign an attribute of a module: what is a module, parameter or list of these becomes part of it."""
    before = module.fields.get(name)
    run.heap.set(module.fields, name, new)
    may_be_one = isinstance(new, (Module, Unknown)) or (isinstance(new, Either) and module_parts.children(new))
    if may_be_one and module.layer in layers.CONTAINERS and name != "__dict__":
        _set_in_list(run, module, name, before, new)
    if name == "__dict__":
        run.heap.set(module.facts, Fact.INITIALISED, value=True)  # it takes the state of another module
    site = run.site(node)
    for child in module_parts.children(new):
        if isinstance(child, (Module, ParameterValue)):
            if isinstance(child, ParameterValue) and not child.declared:
                continue
            register(run, module, child, name, node)
            perhaps_early(run, module, node)
        elif module.fact(Fact.FROZEN):
            run.heap.set(module.facts, Fact.FROZEN, None)  # what comes after the freezing may need gradients
    if isinstance(new, Unknown):
        _perhaps_registered(run, module, new)
    run.heap.restructure()
    for observe in run.observers.registered:
        observe(run, module, name, (new,), node)
    if isinstance(new, (Sequence, Mapping)):
        listed = {**module.fact(Fact.HELD), name: (site, run.frame.what, _wraps_one(node))}
        run.heap.set(module.facts, Fact.HELD, listed)


def perhaps_early(run: Run, module: Module, node: p.Node) -> None:
    """A module gets something that its base's constructor makes room for: note the first that comes before it."""
    if any(map(elsewhere.decided, run.assumed)):
        return  # who decides about it may know that the constructor ran
    if module.fact(Fact.INITIALISED) is not True and module.fact(Fact.EARLY) is None and run.frame.what:
        run.heap.set(module.facts, Fact.EARLY, (run.site(node), run.frame.what))


def _perhaps_registered(run: Run, module: Module, new: Unknown) -> None:
    """Something unknown becomes an attribute: it may be what the module has in its plain containers."""
    containers = [module.fields.get(name) for name in module.fact(Fact.HELD)]
    for number in held(each for each in containers if isinstance(each, (Sequence, Mapping))) & new.holds:
        thing = run.objects.get(number)
        if isinstance(thing, (Module, ParameterValue)):
            run.heap.set(thing.facts, Fact.REGISTERED, value=True)


def perhaps_parts(run: Run, values: tuple[Value, ...]) -> None:
    """A module gets these as parts: of those that nobody can follow, whatever they hold may be registered in it."""
    building = {module.id for module in run.building}
    unseen = (value for value in values if not isinstance(value, (Module, ParameterValue)))
    for number in held(unseen) - building:
        thing = run.objects.get(number)
        if isinstance(thing, (Module, ParameterValue)):
            run.heap.set(thing.facts, Fact.REGISTERED, value=True)


def perhaps_replaced(run: Run, thing: Value, new: Value, name: str = "") -> None:
    """A module is set as an attribute that is not known, of something that may be one of several: it may replace any part.

    `name` is that of the attribute, where only the thing is not known.
    """
    if not isinstance(new, (Module, Unknown)) or not isinstance(thing, (Module, Unknown, UnknownAttribute)):
        return
    if isinstance(thing, Module):
        holders = [thing]
    else:
        modules = frozenset(number for number in thing.holds if isinstance(run.objects.get(number), Module))
        found = map(run.objects.get, module_parts.with_parts(run, modules) if isinstance(new, Module) else ())
        holders = [each for each in found if isinstance(each, Module)]
    chosen = fresh_symbol("flag")
    for holder in holders:
        if holder not in run.building:
            _perhaps_replaced(run, holder, chosen, new, name)


def _perhaps_replaced(run: Run, holder: Module, chosen: Symbol, new: Value, name: str) -> None:
    for each, old in list(holder.fields.items()):
        if isinstance(old, Module) and old is not new and name in ("", each):
            run.heap.set(holder.fields, each, _one_of(chosen, new, old))
    content = module_parts.listed(holder)
    if content is not None and not name and len(content.items) < module_parts.PARTS:
        items = tuple(_one_of(chosen, new, old) if old is not new else old for old in content.items)
        run.heap.set(holder.facts, Fact.LISTED, Content(items, content.rest))
    run.heap.restructure()


def _one_of(chosen: Symbol, new: Value, old: Value) -> Value:
    return either(((frozenset(((chosen, True),)), new), (frozenset(((chosen, False),)), old)))


def _set_in_list(run: Run, module: Module, name: str, before: object, new: Value) -> None:
    """An attribute of a list of modules is an element of it: it takes the place of what had its name, or is the last one."""
    content = module_parts.listed(module) or Content()
    if len(content.items) >= module_parts.PARTS:
        return
    if before is None and content.rest is None and name.isdigit() and int(name) < len(content.items):
        before = content.items[int(name)]
    items = tuple(new if item is before else item for item in content.items)
    changed = Content(items, content.rest, content.end)
    run.heap.set(module.facts, Fact.LISTED, changed if new in items else _longer(changed, (new,)))


def _longer(content: Content, items: tuple[Value, ...]) -> Content:
    """A list to which these are added: behind an unknown number of others, nobody knows their places, but that of the last."""
    if not items:
        return content
    if content.rest is None:
        return Content((*content.items, *items), None, items[-1])
    return Content(content.items, summary((content.rest, *items)), items[-1])


def _wraps_one(node: p.Node) -> bool:
    """Whether an assignment puts one thing that has a name of its own into a list: nobody lists a single layer."""
    shown = node.value if isinstance(node, p.Assign) else None
    return isinstance(shown, p.Display) and len(shown.items) == 1 and isinstance(shown.items[0], p.Name)


def register(run: Run, owner: Module, child: Object, name: str, node: p.Node) -> None:
    """Make a module or parameter part of a module."""
    before = child.fact(Fact.OWNER)
    if isinstance(child, Module) and isinstance(before, Module) and before is not owner:
        run.heap.set(child.facts, Fact.MODE, modes.own_mode(run, child))  # that of the module that it comes from
    run.heap.set(child.facts, Fact.REGISTERED, value=True)
    run.heap.set(child.facts, Fact.OWNER, owner)
    run.heap.restructure()
    if not run.building:
        told = ANY_NAME if isinstance(name, UnknownName) else name
        run.emit(Registered, node, owner=owner.id, child=child.id, name=told)


def add_to_list(run: Run, module: Module, items: tuple[Value, ...], node: p.Node) -> None:
    """`ModuleList.append` and `extend`, `Sequential.append`."""
    content = module_parts.listed(module) or Content()
    if run.loop_depth and len(content.items) >= module_parts.PARTS:
        return
    run.heap.set(module.facts, Fact.LISTED, _longer(content, items))
    for item in items:
        for child in module_parts.children(item):
            if isinstance(child, (Module, ParameterValue)):
                register(run, module, child, "items", node)
    perhaps_parts(run, items)
    run.heap.restructure()


def sliced(run: Run, module: Module, content: Content, node: p.Index) -> Value:
    """A stretch of a module that is a list of modules: another list of the same modules."""
    items, rest = content.items, content.rest
    bounds = [getattr(node.key, part, None) for part in ("lower", "upper", "step")]
    numbers = [constant(run.evaluate(bound)) if bound is not None else None for bound in bounds]
    whole = [number for number in numbers if number is None or isinstance(number, int)]
    known = all(number is not None for bound, number in zip(bounds, numbers, strict=True) if bound is not None)
    if known and rest is None and len(whole) == len(numbers):
        items = items[slice(*whole)]
    else:
        items, rest = (), summary(content.all()) if content.all() else None
    part: Module = run.own(Module(module.born, layer=module.layer, sensitive=False))
    part.facts[Fact.MODE] = modes.own_mode(run, module)
    part.facts[Fact.INITIALISED] = True
    part.facts[Fact.LISTED] = Content(items, rest)
    return part


def part_of(run: Run, module: Module, name: str, *, cares: Tri = None) -> Module:
    """An attribute of a module that is known by its role only: a part of it, or a method."""
    part: Module = run.own(Module(module.born, name=name, sensitive=cares))
    part.facts[Fact.MODE] = module.fact(Fact.MODE)
    part.facts[Fact.FROZEN] = module.fact(Fact.FROZEN)
    part.facts[Fact.PART_OF] = module.layer or module.fact(Fact.PART_OF)
    part.facts[Fact.REGISTERED] = part.facts[Fact.BY_NAME] = True
    module.fields[name] = part  # not logged: it has always been there
    run.heap.restructure()
    return part
