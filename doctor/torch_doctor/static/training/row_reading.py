"""What a project's data set does when a row is read, by what is written in its class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import file_globals
from torch_doctor.static import program as p
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import libraries
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import ClassValue, Const, FunctionValue, Instance, Lib, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def decides(value: Instance) -> bool:
    """Whether a row asks what its index is a member of, or branches on what it selects, or compares that."""
    for method in readers(value):
        for name in [each.name for each in method.parameters[1:2]]:
            tests = [each.test for each in walk(method.body) if isinstance(each, (p.If, p.Choice))]
            members = [each for each in walk(method.body) if isinstance(each, p.Compare)]
            compared = [side for each in members for side in (each.left, each.right)]
            if any(_selects(each) and _mentions(each, name) for each in (*members, *walk(tests), *walk(compared))):
                return True
    return False


def _selects(part: p.Node) -> bool:
    return isinstance(part, p.Index) or (isinstance(part, p.Compare) and part.op in ("in", "not in"))


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


# --- what it reads of itself ---

_READERS = ("__getitem__", "__getitems__", "__iter__")
"""Methods by which a loader gets rows."""


def readers(value: Instance) -> Iterator[p.Function]:
    """The methods that make a row, and those of its own that they take."""
    waiting, seen = list(_READERS), set[str]()
    while waiting:
        name = waiting.pop()
        found = value.cls.find(name) if name not in seen else None
        seen.add(name)
        if found is not None and isinstance(found[0], FunctionValue):
            yield found[0].node
            waiting += (each.name for each in of_itself(found[0].node))


def of_itself(method: p.Function) -> Iterator[p.Attribute]:
    """The attributes of its object that a method takes, each after what it is part of."""
    own = method.parameters[0].name if method.parameters else ""
    for each in walk(method.body):
        if isinstance(each, p.Attribute) and isinstance(each.value, p.Name) and each.value.id == own:
            yield each


def lacks_transforms(value: Instance) -> bool:
    """Whether it calls attributes only where they are there, has none of them, and does nothing else in their place."""
    lacking = set[str]()
    for method in readers(value):
        taken = {id(each): each.name for each in of_itself(method)}
        called = {taken.get(id(each.func)) for each in walk(method.body) if isinstance(each, p.Call)}
        absent = {name for name in called if name is not None and _is_none(value.fields.get(name))}
        about, others = _tests(method, taken, absent)
        if absent and not about:
            return False
        if not all(_only_applies(each, method) for each in about) or any(map(_computes, others)):
            return False
        lacking |= absent
    found = value.cls.find("__init__")
    built = found[0].node if found is not None and isinstance(found[0], FunctionValue) else None
    return bool(lacking) and (built is None or not _asks_for(built, lacking))


def _tests(
    method: p.Function, taken: dict[int, str], absent: set[str]
) -> tuple[list[p.If | p.Choice], list[p.If | p.Choice]]:
    """The branches that ask for absent attributes, and those that ask for others of the object."""
    tests = [each for each in walk(method.body) if isinstance(each, (p.If, p.Choice))]
    asked = [(each, {taken[id(part)] for part in walk(each.test) if id(part) in taken}) for each in tests]
    return [each for each, names in asked if names & absent], [
        each for each, names in asked if names and not names & absent
    ]


def _asks_for(method: p.Function, names: set[str]) -> bool:
    """Whether a constructor does something else, or takes something else, where such an argument is not given."""
    for each in walk(method.body):
        if isinstance(each, (p.If, p.Choice, p.Logic)):
            tested = each.operands if isinstance(each, p.Logic) else each.test
            if any(getattr(part, "id", getattr(part, "name", "")) in names for part in walk(tested)):
                return True
    return False


def _is_none(field: object) -> bool:
    return isinstance(field, Const) and field.value is None


def _only_applies(choice: p.If | p.Choice, method: p.Function) -> bool:
    """Whether a branch that asks for an attribute does nothing where it is None, and what comes after is for both ways."""
    test = choice.test
    negated = isinstance(test, p.Logic) and test.op == "not"
    absent = negated or (isinstance(test, p.Compare) and test.op in ("is", "=="))
    if isinstance(choice, p.Choice):
        return not _computes(choice.then if absent else choice.other)
    left, there = (choice.body, choice.other) if absent else (choice.other, choice.body)
    ends = any(isinstance(each, p.Return) for each in walk(there))
    return not _computes(left) and not (ends and _computes(method.body[-1:]))


def _computes(*parts: object) -> bool:
    return any(isinstance(each, (p.Call, p.Operation)) for each in walk(*parts))
