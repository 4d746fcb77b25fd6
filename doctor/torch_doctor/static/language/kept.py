"""What an object of the project keeps in its base, a container of Python: a subclass of `dict` or `list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values import Fact, Instance, held

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args

_CONTAINERS = ("builtins.", "collections.")


def put_in(run: Run, thing: Instance, values: Args) -> None:
    """The base of an object gets these: they, or what they hold, may be items from here on."""
    new = held(values) - thing.fact(Fact.KEPT)
    if new and any(name.startswith(_CONTAINERS) for name in thing.cls.libraries()):
        run.heap.set(thing.facts, Fact.KEPT, thing.fact(Fact.KEPT) | new)
