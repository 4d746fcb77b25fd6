"""What a project's data set does when a row is read, by what is written in its class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import file_globals
from torch_doctor.static import program as p
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import libraries
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import ClassValue, FunctionValue, Instance, Lib, Unknown

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Namespace
    from torch_doctor.trace import Tri


def draws(value: Instance) -> bool:
    """Whether a row does not depend on the index that it is asked by."""
    found = value.cls.find("__getitem__")
    if found is None or not isinstance(found[0], FunctionValue) or found[0].node.decorators:
        return False
    parameters = found[0].node.parameters[1:]
    if len(parameters) != 1:
        return False
    index = parameters[0].name
    reading = (each for each in found[0].node.body if not _only_checks(each))
    first = next((each for each in reading if _mentions(each, index)), None)
    if not isinstance(first, p.Assign):
        return first is None
    return not _mentions(first.value, index) and all(isinstance(each, p.Name) for each in first.targets)


def _only_checks(statement: p.Stmt) -> bool:
    """Whether it raises, deletes a name, or compares something, as `assert` does."""
    if isinstance(statement, p.Evaluate):
        return not any(isinstance(each, p.Call) for each in walk(statement))  # which may seed what draws
    if isinstance(statement, p.If):
        return all(isinstance(each, p.Raise) for each in (*statement.body, *statement.other))
    return isinstance(statement, p.Delete)


def _mentions(part: p.Node, name: str) -> bool:
    return any(isinstance(each, p.Name) and each.id == name for each in walk(part))


def computes(run: Run, value: Instance) -> Tri:
    """Whether reading a row calls anything; what code out of sight does may take no time."""
    found = value.cls.find("__getitem__")
    if found is None or not isinstance(found[0], FunctionValue):
        return None
    names = found[0].closure.globals
    return any(isinstance(each, p.Call) and not is_unseen(run, each.func, names) for each in walk(found[0].node.body))


def is_unseen(run: Run, func: p.Expr, names: Namespace) -> bool:
    """Whether what is called belongs to a package of which nothing is known."""
    while isinstance(func, p.Attribute):
        func = func.value
    owner = file_globals.one(run, names, func.id) if isinstance(func, p.Name) else None
    return isinstance(owner, Unknown) or (isinstance(owner, Lib) and not libraries.heard_of(canonical(owner.name)))


def changes(value: Instance) -> bool:
    """Whether what others may call of it sets its attributes."""
    return any(
        isinstance(target, p.Attribute)
        for cls in value.cls.mro()
        if isinstance(cls, ClassValue)
        for item in cls.node.body
        if isinstance(item, p.Define) and not item.function.name.startswith("_")
        for each in walk(item.function.body)
        for target in (each.targets if isinstance(each, p.Assign) else (getattr(each, "target", None),))
    )
