"""What the code of a file does with a name: in the function at hand, in those it is given to, in all methods of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.program.uses import Uses
from torch_doctor.static.program.using import uses_in
from torch_doctor.static.state import per_run
from torch_doctor.static.values import ClassValue, FunctionValue, Instance

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.unit import Unit

_FURTHER = 3
"""Functions that something is given to one after the other, as far as they are looked at."""


class OfClasses(Lasting):
    """What the methods of classes do with what they name, by the classes' numbers."""

    known: dict[int, Uses] = per_run(dict)


def of_name(run: Run, name: str) -> set[str]:
    """What the current function, or for `self.x` the class and the file, for globals the file, does with a name."""
    program = run.frame.unit.program
    what = run.frame.what
    if what is None or "." in name:
        found = program.uses.get(name, set())
        thing = run.frame.self
        if isinstance(thing, Instance) and name.startswith("self."):
            found = found | in_class(run, thing.cls).of(name)
        return found
    return uses_in(what.node).of(name)


def of_variable(run: Run, name: str, function: FunctionValue) -> set[str]:
    """What a function, and those of the file that it gives it to, do with one of its variables."""
    return _followed(run, name, function.node, function.unit, function.owner, frozenset())


def in_class(run: Run, cls: ClassValue) -> Uses:
    """What the methods of a class and of its bases do with what they name."""
    known = run.of(OfClasses).known
    found = known.get(cls.id)
    if found is None:
        found = known[cls.id] = Uses()
        for each in cls.mro():
            for attribute in each.fields.values() if isinstance(each, ClassValue) else ():
                if isinstance(attribute, FunctionValue):
                    found.add(uses_in(attribute.node))
    return found


def _followed(
    run: Run, name: str, function: p.Function, unit: Unit, owner: ClassValue | None, seen: frozenset[tuple[object, str]]
) -> set[str]:
    if (function, name) in seen or len(seen) > _FURTHER:
        return set()
    seen |= {(function, name)}
    here = uses_in(function)
    found = set(here.of(name))
    for path in here.stored.get(name, ()):
        if path.startswith("self.") and owner is not None:
            found |= in_class(run, owner).of(path)
    for callee, place in here.passes.get(name, ()):
        target, skipped = _called(unit, owner, callee)
        if target is not None and (parameter := _parameter(target, place, skipped)) is not None:
            found |= _followed(run, parameter, target, unit, owner if skipped else None, seen)
    return found


def _called(unit: Unit, owner: ClassValue | None, callee: str) -> tuple[p.Function | None, int]:
    """The function of the file, or the method of the class, that is called so, and how many arguments Python adds."""
    if callee in unit.program.functions:
        return unit.program.functions[callee], 0
    base, _, method = callee.rpartition(".")
    found = owner.find(method) if base == "self" and owner is not None else None
    if found is not None and isinstance(found[0], FunctionValue) and found[0].unit is unit:
        return found[0].node, 0 if found[0].style == "static" else 1
    return None, 0


def _parameter(function: p.Function, place: int | str, skipped: int) -> str | None:
    """The name of the parameter that gets an argument."""
    if isinstance(place, str):
        return place if any(each.name == place for each in function.parameters) else None
    plain = [each for each in function.parameters if each.kind == "plain"][skipped:]
    return plain[place].name if place < len(plain) else None
