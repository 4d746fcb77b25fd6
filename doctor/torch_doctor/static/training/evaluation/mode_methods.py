"""`train` and `eval` methods that modules of the project define themselves."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import layers
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import ClassValue, FunctionValue
from torch_doctor.trace import ModeMethod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run

_TRAINS = frozenset(("backward", "manual_backward", "zero_grad", "step"))
_FLAG = pattern(r"(^|_)(mode|flag|enabled?|status)$|^(is_?|do_)?train(ing)?$", re.IGNORECASE)


class _Does(Struct, frozen=True):
    """What a method does, with what it calls on itself."""

    base: bool  # calls the method of its base
    switches: bool  # sets the mode of something
    trains: bool


def mode_methods(run: Run, cls: ClassValue, node: p.Node) -> None:
    """Write the `train` and `eval` of a module's class, where the project defines them."""
    if not _only_torch(cls):
        return  # a framework may give the names another meaning
    for name in ("train", "eval"):
        found = cls.find(name)
        if found is None or not isinstance(found[0], FunctionValue):
            continue
        function, owner = found[0], found[1]
        if function.style or _is_trivial(function.node):
            continue
        does = _does(owner, function.node, set())
        own = [each for each in function.node.parameters if each.kind in ("plain", "keyword")]
        needed = [each.name for each in own[1:] if each.default is None]
        run.emit(
            ModeMethod,
            function.unit.site(function.node.name_at),
            class_name=owner.name,
            method=name,
            needs=tuple(needed),
            takes_mode=any(_FLAG.search(each) for each in needed),
            calls_base=does.base,
            switches=does.switches,
            trains=does.trains,
            built_at=run.site(node),
        )


def _only_torch(cls: ClassValue) -> bool:
    """Whether all bases that are not the project's are torch's own modules, or Python's own classes."""
    if cls.opaque_base():
        return False
    for name in map(canonical, cls.libraries()):
        known = name in layers.MODULE_BASES or name in layers.LAYERS or name in layers.CONTAINERS
        first = name.partition(".")[0]
        if not known and first not in sys.stdlib_module_names and first != "builtins":
            return False
    return True


def _is_trivial(function: p.Function) -> bool:
    """Whether the method does nothing: it is left to others, or keeps the mode as it is on purpose."""
    return all(
        isinstance(each, p.Raise)
        or (isinstance(each, p.Evaluate) and isinstance(each.value, p.Const))
        or (isinstance(each, p.Return) and (each.value is None or isinstance(each.value, (p.Name, p.Const))))
        for each in function.body
    )


def _does(cls: ClassValue, function: p.Function, seen: set[p.Function]) -> _Does:
    seen.add(function)
    base = "super" in function.calls
    switches = trains = False
    for node in walk(function.body):
        if isinstance(node, p.Assign):
            switches |= any(isinstance(each, p.Attribute) and each.name == "training" for each in node.targets)
        if not isinstance(node, p.Call) or not isinstance(node.func, p.Attribute):
            continue
        name, of = node.func.name, node.func.value
        trains |= name in _TRAINS
        if name in ("train", "eval"):
            switches = True
            base |= isinstance(of, p.Attribute) and of.name == "Module"
        for inner in _own(cls, name, of):
            if inner not in seen:
                more = _does(cls, inner, seen)
                switches, trains = switches | more.switches, trains | more.trains
    return _Does(base, switches, trains)


def _own(cls: ClassValue, name: str, of: p.Expr) -> Iterator[p.Function]:
    """The method of the class itself that `self.name` is."""
    found = cls.find(name) if isinstance(of, p.Name) and of.id == "self" else None
    if found is not None and isinstance(found[0], FunctionValue):
        yield found[0].node
