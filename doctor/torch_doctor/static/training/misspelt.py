"""Constructors whose name is misspelt: Python never calls them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.program.walking import walk
from torch_doctor.static.questions import KINDS, Kind, texts, yes
from torch_doctor.static.values import ClassValue, FunctionValue

if TYPE_CHECKING:
    from torch_doctor.sources.project import Project
    from torch_doctor.static.run import Run

_ALIKE = pattern(r"_+(?:init|inti|int)_+")
_NAME = "__init__"


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


def _called(project: Project, name: str) -> list[str]:
    """Whether somebody calls a method of this name, but for `super()`."""
    called = re.compile(rf"(?<!super\(\))(?<!self\))\.{name}\b")
    return yes(holds=any(map(called.search, texts(project, name))))


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
