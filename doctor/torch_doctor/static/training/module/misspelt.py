"""Constructors and forwards whose name is misspelt: nobody ever calls them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.program.walking import walk
from torch_doctor.static.questions import KINDS, Kind, texts, yes
from torch_doctor.static.values import ClassValue, FunctionValue, Lib

if TYPE_CHECKING:
    from torch_doctor.sources.project import Project
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Module

_ALIKE = pattern(r"_+(?:init|inti|int)_+")
_NAME = "__init__"
_FORWARD = "forward"
_NEAR = 0.85
"""How like `forward` a name has to be: one letter that is missing, wrong, too many or in its neighbour's place."""
_WITHOUT_FORWARD = frozenset(
    {"torch.nn.Module", "torch.nn.modules.module.Module", "abc.ABC", "object", "typing.Generic"}
)
"""Bases of other libraries that define no `forward`."""


def misspelt_constructor(run: Run, cls: ClassValue) -> FunctionValue | None:
    """The method that a class, or a project class it derives from, means as `__init__` under a name that nobody calls.

    It sets attributes of its object, as a constructor does, and no file of the project names it except by `super()`.
    """
    for owner in cls.mro():
        if not isinstance(owner, ClassValue) or _NAME in owner.fields:
            return None
        for name, method in owner.fields.items():
            if _ALIKE.fullmatch(name) and isinstance(method, FunctionValue) and _sets_up(method):
                return None if run.imports.ask("constructor called", name) else method
    return None


def misspelt_forward(run: Run, module: Module, cls: ClassValue) -> FunctionValue | None:
    """The method that a class of modules means as `forward`, where it has none and no file of the project names the method."""
    bases = cls.mro()
    if cls.opaque_base() or not all(isinstance(base, (ClassValue, Lib)) for base in bases):
        return None
    if not all(name in _WITHOUT_FORWARD for name in cls.libraries()) or _FORWARD in module.fields:
        return None
    methods = {
        name: what for base in reversed(bases) if isinstance(base, ClassValue) for name, what in base.fields.items()
    }
    if not methods.keys().isdisjoint({_FORWARD, "__call__", "__getattr__", "__getattribute__"}):
        return None
    for name, method in methods.items():
        if isinstance(method, FunctionValue) and len(method.node.parameters) > 1 and _like_forward(name):
            return None if run.imports.ask("method named", name) else method
    return None


def _like_forward(name: str) -> bool:
    """Whether a name is `forward` misspelt; one that has the word in it, and something beside, is a name of its own."""
    bare = name.strip("_").lower()
    if _FORWARD in bare:
        return bare == _FORWARD
    from difflib import SequenceMatcher  # noqa: PLC0415 - only where a class of modules has no forward

    return SequenceMatcher(None, bare, _FORWARD).ratio() >= _NEAR


def _called(project: Project, name: str) -> list[str]:
    """Whether somebody calls a method of this name, but for `super()`."""
    called = re.compile(rf"(?<!super\(\))(?<!self\))\.{name}\b")
    return yes(holds=any(map(called.search, texts(project, name))))


def _named(project: Project, name: str) -> list[str]:
    """Whether somebody names a method, but where it is defined and for `super()`."""
    named = re.compile(rf"(?<!def )(?<!super\(\)\.)\b{name}\b")
    return yes(holds=any(map(named.search, texts(project, name))))


KINDS["method named"] = Kind(lambda name: (name,), _named)
KINDS["constructor called"] = Kind(lambda name: (name,), _called)


def _sets_up(method: FunctionValue) -> bool:
    """Whether a method sets an attribute of what it is called on."""
    node = method.node
    if not node.parameters:
        return False
    own = node.parameters[0].name
    targets = (target for part in walk(*node.body) if isinstance(part, p.Assign) for target in part.targets)
    return any(
        isinstance(target, p.Attribute) and isinstance(target.value, p.Name) and target.value.id == own
        for target in targets
    )
