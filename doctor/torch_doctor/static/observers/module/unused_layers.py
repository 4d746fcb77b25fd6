"""Layers that a module gets and that nothing in the project names again."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import file_globals
from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.questions import KINDS, Kind, texts, yes
from torch_doctor.static.tables import layers, libraries, losses
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.values import ClassValue, Fact, FunctionValue, Lib, Module, Unknown, Value
from torch_doctor.trace import LayerRegistered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from torch_doctor.sources.project import Project
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import Call, Object
    from torch_doctor.trace import Site

_ALL = frozenset(("_modules", "children", "named_children", "__dict__", "__getattr__", "get_submodule", "_parameters"))
"""What reaches layers without naming them."""
_WALKS = frozenset(("modules", "named_modules"))
_SETS_UP = pattern(r"init|reset|weight|freeze|train|eval|param|grad", re.IGNORECASE)
"""Functions that walk through a module's parts to prepare them, and not to run them."""
_DYNAMIC = frozenset(("vars", "exec", "eval", "locals"))
_LOADS = pattern(r"load_url|load_state_dict_from_url|model_zoo|from_pretrained|torch\.hub|hf_hub|pretrained")
_IMPORT = pattern(r"^[ \t]*(?:from[ \t]+\S+[ \t]+)?import[ \t]+\(?([^#\n()]+)", re.MULTILINE)


class UnusedLayers(Observer):
    """Layers of the modules of project classes, and whether anything in the project's text reaches them."""

    writes = (LayerRegistered,)

    @override
    def registered(self, run: Run, module: Module, name: str, values: tuple[Value, ...], node: p.Node) -> None:
        """A module that is under construction gets a layer: it is remembered where its own class gives it."""
        child, function = values[0] if values else None, run.frame.what
        if not name or not isinstance(child, Module) or not isinstance(node, p.Assign):
            return
        if run.building and run.building[-1] is module and function is not None and function.owner is module.cls:
            assigned = {**module.fact(Fact.ASSIGNED), name: (run.site(node), child)}
            run.heap.set(module.facts, Fact.ASSIGNED, assigned)

    @override
    def built(self, run: Run, module: Object, _: Call) -> None:
        """Write the layers of a new module that nothing will reach, as far as the project's text tells."""
        cls: ClassValue | None = module.cls if isinstance(module, Module) else None
        held: dict[str, tuple[Site, Module]] = module.fact(Fact.ASSIGNED)
        if not isinstance(module, Module) or not held or cls is None or not _only_forward(cls):
            return
        layers_held = {
            name: at for name, at in held.items() if module.fields.get(name) is at[1] and _is_layer(run, at[1])
        }
        imported = _imported(cls.unit.source.text)
        read = {name for function in _methods(cls) for name in _read(function, layers_held.keys(), imported)}
        unread = [name for name in layers_held if name not in read]
        if not unread or _LOADS.search(cls.unit.source.text):
            return
        if any(_hands_self_over(run, function, cls.unit) for function in _methods(cls)):
            return
        nameless = [name for name in unread if not _is_named(run, cls, name, imported)]
        if len(nameless) == len(layers_held):
            return  # a sketch, or a holder of layers that somebody else runs
        for name in nameless:
            site, child = layers_held[name]
            if _is_shared(run, module, name, child):
                continue
            run.emit(
                LayerRegistered,
                site,
                owner=module.id,
                owner_class=cls.name,
                name=name,
                class_name=child.class_name,
                trainable=module_parts.trainable(run, child),
                bare=_is_bare(run, child),
                reached=False,
            )


def _is_shared(run: Run, module: Module, name: str, child: Module) -> bool:
    """Whether another attribute of the module has the layer, too, or all that is in it, and may run it.

    `nn.ModuleList(self.layers.values())` registers what `forward` takes from the plain dictionary.
    """
    content = module_parts.listed(child)
    if content is not None and content.rest is not None:
        return True  # what is in there, another attribute may have
    held: set[int] = set()
    for key, value in module.fields.items():
        if key == name or not isinstance(value, Value):
            continue
        for each in module_parts.members(value):
            held |= (
                {part.id for part in module_parts.parts_of(run, each).parts} if isinstance(each, Module) else {each.id}
            )
    inside = {part.id for part in module_parts.parts_of(run, child).parts} - {child.id}
    return child.id in held or bool(inside and inside <= held)


def _is_layer(run: Run, module: Module) -> bool:
    """Whether something computes anything: a loss is none, nor a list that stays empty, nor, perhaps, a model's attribute."""
    content = module_parts.listed(module)
    return (
        not module.fact(Fact.BY_NAME) and module.layer not in losses.LOSSES and (content is None or bool(content.all()))
    )


def _is_bare(run: Run, layer: Module) -> bool:
    """Whether a layer has no parameters: an activation, a padding, a dropout, a norm without weights."""
    inside = module_parts.parts_of(run, layer)
    return (
        not inside.opaque
        and inside.owners <= {part.id for part in inside.parts}
        and all(module_parts.has_parameters(run, part) is False for part in inside.parts)
    )


def _only_forward(cls: ClassValue) -> bool:
    """Whether a class is a plain module with a `forward` of the project's, that reaches layers by their names alone."""
    names = [canonical(name) for name in cls.libraries()]
    found = cls.find("forward")
    if cls.opaque_base() or not all(name in layers.MODULE_BASES or name.startswith("builtins.") for name in names):
        return False
    if found is None or not isinstance(found[0], FunctionValue):
        return False
    if not any(isinstance(each, p.Return) for each in walk(found[0].node.body)):
        return False
    return not any(_is_dynamic(function) for function in _methods(cls))


def _is_dynamic(function: p.Function) -> bool:
    attributes = {attribute for of, used in function.uses.items() if of.split(".")[0] == "self" for attribute in used}
    if function.name in _ALL or attributes & _ALL or not _DYNAMIC.isdisjoint(function.calls):
        return True
    if attributes & _WALKS and not _SETS_UP.search(function.name):
        return True
    return "getattr" in function.calls and any(
        isinstance(node, p.Call)
        and isinstance(node.func, p.Name)
        and node.func.id == "getattr"
        and len(node.args) > 1
        and not isinstance(node.args[1], p.Const)
        for node in walk(function.body)
    )


def _hands_self_over(run: Run, function: p.Function, unit: Unit) -> bool:
    """Whether a method gives the module itself to something that is not in sight, which may run its layers."""
    own = function.parameters[0].name if function.parameters else ""
    return any(
        isinstance(node, p.Call)
        and any(isinstance(each, p.Name) and each.id == own for each in (*node.args, *(of for _, of in node.keywords)))
        and _is_unseen(run, node.func, unit)
        for node in walk(function.body)
    )


def _is_unseen(run: Run, func: p.Expr, unit: Unit) -> bool:
    """Whether what is called is a library's of which nothing is known, or cannot be found."""
    name, rest = _root(func), unit.text(func.at).partition(".")[2]
    namespace = run.home if unit is run.main else run.units.get(unit.source.path)
    found = file_globals.one(run, namespace, name) if name and namespace is not None else None
    return isinstance(found, Unknown) or (
        isinstance(found, Lib) and not libraries.neutral(canonical(f"{found.name}.{rest}" if rest else found.name))
    )


def _methods(cls: ClassValue) -> Iterator[p.Function]:
    for each in cls.mro():
        if isinstance(each, ClassValue):
            yield from (item.function for item in each.node.body if isinstance(item, p.Define))


def _is_named(run: Run, cls: ClassValue, name: str, imported: frozenset[str]) -> bool:
    """Whether anything in the project but the class's own methods takes the attribute, or may."""
    text = cls.unit.source.text
    if re.search(rf"['\"]{re.escape(name)}[.'\"]|[\])]\s*\.{re.escape(name)}\b", text):
        return True
    heir = _heir(cls.name)
    if _in_text(text, name, imported, heirs=False) or (heir.search(text) and _by_heirs(cls, name)):
        return True
    return bool(run.imports.ask("attribute taken", cls.name, name, str(cls.unit.source.path)))


def _heir(cls: str) -> re.Pattern[str]:
    """What the head of another class that inherits looks like."""
    return re.compile(rf"class\s+(?!{cls}\b)\w+\([^)]*\b{cls}\b")


def _taken(project: Project, cls: str, name: str, path: str) -> list[str]:
    """Whether another file of the project takes the attribute of something that may be of the class."""
    heir = _heir(cls)
    return yes(
        holds=any(
            _in_text(other, name, _imported(other), heirs=heir.search(other) is not None)
            for other in texts(project, name, path)
        )
    )


KINDS["attribute taken"] = Kind(lambda _, name, __: (name,), _taken)


def _by_heirs(cls: ClassValue, name: str) -> bool:
    """Whether a class of the same file that inherits takes the attribute of itself."""
    classes = [each for each in cls.unit.program.classes.values() if each.name != cls.name]
    heirs = [each for each in classes if any(isinstance(base, p.Name) and base.id == cls.name for base in each.bases)]
    methods = [item.function for each in heirs for item in each.body if isinstance(item, p.Define)]
    return any(name in function.uses.get("self", ()) for function in methods)


def _read(function: p.Function, names: AbstractSet[str], imported: frozenset[str]) -> set[str]:
    """Which attributes of these names a function reads, of anything but what is imported."""
    if not any(names & used for used in function.uses.values()):
        return set()
    return {name for name, root in _reads(function) if name in names and root not in imported}


@lru_cache(maxsize=256)
def _reads(function: p.Function) -> frozenset[tuple[str, str]]:
    """The attributes that a function reads, each with the name that its chain begins with."""
    nodes = list(walk(function.body))
    stored = {id(target) for node in nodes if isinstance(node, p.Assign) for target in _flat(node.targets)}
    attributes = (node for node in nodes if isinstance(node, p.Attribute) and id(node) not in stored)
    return frozenset((node.name, _root(node)) for node in attributes)


def _root(node: p.Expr) -> str:
    """The name that a chain of attributes begins with; "" where it begins with something else."""
    while isinstance(node, p.Attribute):
        node = node.value
    return node.id if isinstance(node, p.Name) else ""


def _flat(targets: Iterable[p.Expr]) -> Iterator[p.Expr]:
    for target in targets:
        yield target
        if isinstance(target, p.Display):
            yield from _flat(target.items)


@lru_cache(maxsize=256)
def _imported(text: str) -> frozenset[str]:
    """The names that a file's imports bind."""
    parts = [part for names in _IMPORT.findall(text) for part in names.split(",") if part.strip()]
    return frozenset(part.split()[-1].split(".")[0] for part in parts)


def _in_text(text: str, name: str, imported: frozenset[str], *, heirs: bool) -> bool:
    """Whether a text takes the attribute of something that is not imported; of `self` only where `heirs` are in it."""
    if f".{name}" not in text:
        return False
    for match in re.finditer(rf"([\w.]*)\.{re.escape(name)}\b", text):
        chain = match[1]
        if (heirs or chain != "self") and chain.split(".")[0] not in imported:
            return True
    return False
