"""Names of modules, optimizers and schedulers, as the user spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.trace.events.wording import short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace.scope import Scope

_PLAIN_NAME = pattern(r"[\w.\[\]]+$")
_MOST_NAMED = 4


class Names:
    """What the objects of a trace are called; its events introduce them.

    A module goes by the name it has furthest outside: `model` in the script, and not `self.net` of a method, nor the way to it
    through itself, `model.module` of a wrapper.
    """

    def __init__(self) -> None:
        self._spelled: dict[int, str] = {}
        self._depths: dict[int, int] = {}
        self._classes: dict[int, str] = {}
        self._parts: set[int] = set()
        self._met: set[int] = set()

    def built(self, number: int, class_name: str) -> None:
        """Note of which class an object was constructed."""
        self._classes[number] = short(class_name)

    def part(self, number: int) -> None:
        """Note that an object is part of another one."""
        self._parts.add(number)

    def spelled(self, number: int, name: str, scope: Scope) -> None:
        """Note what a module was called there; an expression or a method is no name, and 0 no module."""
        name = name.removesuffix(".forward")
        if name == "self":  # of a method: it has another name outside
            self._met.add(number)
            return
        if number and _PLAIN_NAME.match(name):
            depth, before = len(scope.chain()), self._depths.get(number)
            through = depth == before and self._spelled[number].startswith(f"{name}.")
            if before is None or depth < before or through:
                self._depths[number], self._spelled[number] = depth, name

    def things(self, numbers: Iterable[int], *, whole: bool = True, nothing: str = "nothing known") -> str:
        """What modules, optimizers and the like are called; `whole` is False when there may be more.

        What has no name of its own and was not constructed by itself is a part of the others and goes without saying.
        """
        apart = (self._classes.keys() | self._met) - self._parts
        told = [number for number in sorted(numbers) if number in self._spelled or number in apart]
        built = [number for number in sorted(numbers) if number in self._classes]
        names = list(dict.fromkeys(self.thing(number) for number in told or built or sorted(numbers)))
        more = len(names) - _MOST_NAMED
        shown = names[:_MOST_NAMED] + ([f"{more} more"] if more > 0 else []) + ([] if whole else ["maybe others"])
        return ", ".join(shown) if names else nothing if whole else "something unresolved"

    def thing(self, number: int) -> str:
        """What one object is called."""
        name, kind = self._spelled.get(number), self._classes.get(number)
        return f"`{name}`" if name else kind or "something"
