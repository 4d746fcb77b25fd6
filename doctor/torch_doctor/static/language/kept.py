"""What an object keeps of what it is given: in its base, such as `dict` or one out of sight, in its `__dict__`, or unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import libraries
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import ClassValue, Const, Fact, Instance, Module, Plain, Unknown, held

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Symbol, Value

_CONTAINERS = ("builtins.", "collections.")


def put_in(run: Run, thing: Instance, values: Args) -> None:
    """The base of an object gets these: a container has them as items from here on, one out of sight may keep them."""
    new = held(values) - thing.fact(Fact.KEPT)
    if new and (thing.cls.opaque_base() or any(map(_may_keep, thing.cls.libraries()))):
        run.heap.set(thing.facts, Fact.KEPT, thing.fact(Fact.KEPT) | new)


def _may_keep(name: str) -> bool:
    return name.startswith(_CONTAINERS) or not libraries.heard_of(canonical(name))


def given(run: Run, owner: Value, values: Args) -> None:
    """Something of which nothing is known gets these, and may keep them."""
    new = held(values)
    if new and isinstance(owner, Unknown) and not new <= owner.holds:
        run.heap.change(owner, Unknown(owner.flow, owner.holds | new, owner.symbol, owner.origin))


def attributes_of(thing: Instance | Module) -> Symbol:
    """The symbol of the `__dict__` of an object."""
    return (".", ("object", thing.id), "__dict__")


def perhaps_set_in(run: Run, symbol: Symbol) -> None:
    """Something is put into what has this symbol, which may be the `__dict__` of an object."""
    if len(symbol) == 3 and symbol[0] == "." and symbol[2] == "__dict__" and isinstance(symbol[1], tuple):
        perhaps_set(run, run.objects.get(symbol[1][1]) if symbol[1][0] == "object" else None)


def perhaps_set(run: Run, thing: object) -> None:
    """An attribute whose name is not known gets a value: any constant that an object, or its class, has may be another."""
    if not isinstance(thing, (Instance, Module)):
        return
    classes = thing.cls.mro() if thing.cls is not None else ()
    known = {
        name: value for cls in reversed(classes) if isinstance(cls, ClassValue) for name, value in cls.fields.items()
    }
    for name, value in {**known, **thing.fields}.items():
        if isinstance(name, str) and isinstance(value, Const) and not name.startswith("__"):
            run.heap.set(thing.fields, name, Plain(("set", thing.id, name)))
